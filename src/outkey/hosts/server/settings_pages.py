"""Django settings of the embedded host with its pages: users, sessions, the admin."""

import contextlib
import os
import secrets
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.server import settings
from outkey.hosts.server.location import home
from outkey.hosts.server.logs import logging_settings

_SHORTEST_KEY = 48
OUTKEY = settings.OUTKEY | {
    "PUBLIC_URL": os.environ.get("OUTKEY_PUBLIC_URL", ""),
    # Not Django's TIME_ZONE, which would be that of the process and its log too.
    "TIME_ZONE": os.environ.get("OUTKEY_TIME_ZONE", ""),
}
DATABASES = settings.DATABASES
USE_TZ = True
TIME_ZONE = "UTC"


def signing_key(file: Path) -> str:
    """Return the key that signs sessions; created once, readable by its owner only."""
    if not file.exists():
        # Its mode is 0600.
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=".signing-")
        with os.fdopen(handle, "w", encoding="ascii") as opened:
            opened.write(secrets.token_urlsafe(48))
        with contextlib.suppress(FileExistsError):
            os.link(name, file)  # whole or not at all, and the first process wins
        Path(name).unlink()
    key = file.read_text(encoding="ascii")
    if len(key) < _SHORTEST_KEY:
        raise ConfigError(
            Text("the file config/signing-key is damaged"),
            hint=Text("Delete it and start again. All users have to sign in again."),
        )
    return key


EMAIL_HOST = os.environ.get("OUTKEY_EMAIL_HOST", "localhost")
EMAIL_PORT = int(os.environ.get("OUTKEY_EMAIL_PORT", "25"))
EMAIL_HOST_USER = os.environ.get("OUTKEY_EMAIL_USER", "")
EMAIL_HOST_PASSWORD = os.environ.get("OUTKEY_EMAIL_PASSWORD", "")
EMAIL_USE_TLS = os.environ.get("OUTKEY_EMAIL_TLS") == "1"
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = os.environ.get("OUTKEY_EMAIL_FROM", "outkey@localhost")
# The URL that users open; behind TLS, cookies are for TLS only.
_PUBLIC = urlsplit(os.environ.get("OUTKEY_PUBLIC_URL", ""))
_TLS = _PUBLIC.scheme == "https"

SECRET_KEY = signing_key(home() / "config" / "signing-key")
DEBUG = False
ALLOWED_HOSTS = (
    [_PUBLIC.hostname] if _PUBLIC.hostname else ["127.0.0.1", "localhost", "[::1]"]
)
CSRF_TRUSTED_ORIGINS = (
    [f"{_PUBLIC.scheme}://{_PUBLIC.netloc}"] if _PUBLIC.hostname else []
)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _TLS else None
SECURE_HSTS_SECONDS = 31_536_000 if _TLS else 0
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _TLS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
# Not Strict: the browser comes back from a provider's page with its session.
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 8 * 3600
SESSION_ENGINE = "outkey.hosts.server.users.sessions"
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
SESSION_COOKIE_NAME = "outkey_session"
CSRF_COOKIE_NAME = "outkey_csrf"
CSRF_FAILURE_VIEW = "outkey.hosts.server.web.errors.csrf_failure"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    *settings.FOR_WORKERS,  # before the server, which removes its pages
    "outkey.hosts.django",
    "outkey.hosts.server",
    *settings.FOR_DEMO,
]
MIDDLEWARE = [
    "outkey.hosts.server.web.middleware.RequestIdMiddleware",
    "outkey.hosts.django.web.operating.OperatingMiddleware",
    "outkey.hosts.server.web.middleware.AddressMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "outkey.hosts.server.web.middleware.InterfaceMiddleware",
    "outkey.hosts.server.web.assets.AssetMiddleware",
    "outkey.hosts.server.web.middleware.CompressionMiddleware",
    "outkey.hosts.server.web.middleware.PageMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    *(["outkey.hosts.server.web.middleware.HttpsMiddleware"] if _TLS else []),
    "outkey.hosts.server.web.middleware.TextMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "outkey.hosts.server.web.middleware.LimitsMiddleware",
    "outkey.hosts.django.time_zones.TimeZoneMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "outkey.hosts.server.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).parent / "templates"],  # before the theme's own
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
AUTHENTICATION_BACKENDS = [
    "outkey.hosts.server.sign_ins.LockingBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {
        "NAME": (
            "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"
        )
    },
]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
# By both, so that a user is locked out at one address only; guesses from many addresses
# are slowed down by `sign_ins`.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "outkey.hosts.server.sign_ins.counted_address"
# An attempt while it is locked is not even stored, and the lock ends when it was to.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
# What is logged of a failed attempt has no password, also of a password change.
AXES_SENSITIVE_PARAMETERS = [
    "username",
    "ip_address",
    "old_password",
    "new_password1",
    "new_password2",
]
# Its lists of sign-ins are raw; the page Data protection and the audit have them.
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AXES_LOCKOUT_TEMPLATE = "locked.html"
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "/"

LOGGING = logging_settings(os.environ)

STATIC_URL = "/static/"
STATIC_ROOT = home() / "data" / "static"
# Of the static files that are stored there, as of everything else in the home.
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_AUTOREFRESH = False
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
# Before the catalogues of Django's own apps, which translate some of our words too.
LOCALE_PATHS = [Path(__file__).parents[1] / "django" / "locale"]
