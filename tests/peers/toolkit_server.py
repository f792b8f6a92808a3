"""django-oauth-toolkit as authorization server and API, on an inherited socket.

python toolkit_server.py SETTINGS     settings as JSON, see `toolkit_running`

Everything under /o/ and /.well-known/ is the toolkit's. The routes that begin with an
underscore are ours: what they count or make is the toolkit's too.
"""

import json
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import django
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

GIVEN = json.loads(sys.argv[1])
CALLS: dict[str, Counter[str]] = {
    "grants": Counter(),
    "statuses": Counter(),
    "paths": Counter(),
}
LOCK = threading.Lock()
LOGIN_PAGE = (
    '<form method="post">{% csrf_token %}{{ form.as_p }}<input type="submit"></form>'
)

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    AUTH_USER_MODEL="auth.User",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": "toolkit.sqlite3",
            # Two threads that both read first and then
            # write would not wait for each other.
            "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"},
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "oauth2_provider",
    ],
    LOGIN_URL="/login",
    MIDDLEWARE=[
        f"{__name__}.counted",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    # The tables are made from the models: a new database for each run needs no history.
    MIGRATION_MODULES=dict.fromkeys(
        ["auth", "contenttypes", "sessions", "oauth2_provider"]
    ),
    OAUTH2_PROVIDER={
        "ACCESS_TOKEN_EXPIRE_SECONDS": GIVEN["token_seconds"],
        "ALLOWED_SCHEMES": ["http", "https"],
        "DEFAULT_SCOPES": ["read"],
        "REFRESH_TOKEN_EXPIRE_SECONDS": GIVEN["refresh_token_seconds"],
        "REFRESH_TOKEN_GRACE_PERIOD_SECONDS": GIVEN["grace_seconds"],
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "ROTATE_REFRESH_TOKEN": GIVEN["rotate"],
        "SCOPES": {"read": "Read", "write": "Write"},
    },
    # Client secrets are hashed like passwords; a slow hash would be most of the test.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="made up " * 8,
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "context_processors": ["django.template.context_processors.request"],
                "loaders": [
                    (
                        "django.template.loaders.locmem.Loader",
                        {"login.html": LOGIN_PAGE},
                    ),
                    "django.template.loaders.app_directories.Loader",
                ],
            },
        }
    ],
    USE_TZ=True,
)
django.setup()

# Django's parts can be imported only after the setup.
from django.contrib.auth.models import User  # noqa: E402
from django.contrib.auth.views import LoginView  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.utils import timezone  # noqa: E402
from gunicorn.app.base import BaseApplication  # noqa: E402
from oauth2_provider.decorators import protected_resource  # noqa: E402
from oauth2_provider.models import AccessToken, Application, RefreshToken  # noqa: E402
from oauth2_provider.urls import metadata_urlpatterns  # noqa: E402
from oauthlib.common import generate_token  # noqa: E402


def counted(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Count what arrives, as a middleware."""

    def count(request: HttpRequest) -> HttpResponse:
        own = request.path.startswith("/_") and request.path != "/_api"
        is_token = request.path == "/o/token/"
        if not own:
            with LOCK:
                CALLS["paths"][request.path] += 1
                if is_token:
                    CALLS["grants"][request.POST.get("grant_type", "")] += 1
        if is_token:
            time.sleep(GIVEN["token_delay"])
        response = answer(request)
        if is_token:
            with LOCK:
                CALLS["statuses"][str(response.status_code)] += 1
        return response

    return count


def calls(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"token": CALLS["grants"].total(), **CALLS})


def api(request: HttpRequest) -> HttpResponse:
    """Show who calls; the check and its refusals are the toolkit's.

    It refuses with a bare 403 unless the address asks for a challenge.
    """

    def show(request: HttpRequest) -> HttpResponse:
        token = AccessToken.objects.get(
            token=request.headers["Authorization"].split()[1]
        )
        return JsonResponse(
            {
                "client": token.application.client_id,
                "user": token.user.username if token.user else None,
                "scope": token.scope,
                "method": request.method,
            }
        )

    needed = [request.GET["need"]] if "need" in request.GET else []
    guard = protected_resource(
        scopes=needed, advertise_metadata="challenge" in request.GET
    )
    return guard(show)(request)


def seed_refresh(request: HttpRequest) -> HttpResponse:
    """Make a pair of tokens as the toolkit would after a user's consent."""
    user = User.objects.get()
    application = Application.objects.get(client_id=request.GET.get("client", "web"))
    seconds = int(request.GET.get("seconds", GIVEN["token_seconds"]))
    access = AccessToken.objects.create(
        user=user,
        application=application,
        token=generate_token(),
        expires=timezone.now() + timedelta(seconds=seconds),
        scope=request.GET.get("scope", "read"),
    )
    refresh = RefreshToken.objects.create(
        user=user,
        application=application,
        token=generate_token(),
        access_token=access,
        token_family=uuid.uuid4(),
    )
    return JsonResponse({"refresh_token": refresh.token, "access_token": access.token})


urlpatterns = [
    path("", include(metadata_urlpatterns)),
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
    path("login", LoginView.as_view(template_name="login.html")),
    path("_api", api),
    path("_calls", calls),
    path("_seed_refresh", seed_refresh),
]


def fill() -> None:
    call_command("migrate", run_syncdb=True, verbosity=0)
    user = User.objects.create_user(GIVEN["user"], password=GIVEN["password"])
    for client in GIVEN["clients"]:
        Application.objects.create(user=user, name=client["client_id"], **client)


class Server(BaseApplication):
    """gunicorn with one process, so that the counters are complete."""

    def load_config(self) -> None:
        self.cfg.set("bind", f"fd://{GIVEN['socket']}")
        self.cfg.set("threads", 8)
        self.cfg.set("loglevel", "warning")

    def load(self) -> object:
        return get_wsgi_application()


if __name__ == "__main__":
    fill()
    sys.argv = sys.argv[:1]
    Server().run()
