"""The time zone in which a user reads times: chosen, of the installation, or UTC."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache, wraps
from zoneinfo import ZoneInfo, available_timezones

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.django.models import UserSettings

GetResponse = Callable[[HttpRequest], HttpResponseBase]
User = AbstractBaseUser | AnonymousUser
# The areas of the zones that users choose from; others are old names of these.
AREAS = (
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
)
ON_REQUEST = "_outkey_time_zone"  # where a request remembers the choice of its user


@cache
def zone_names() -> tuple[str, ...]:
    """Return the names of the time zones that a user can choose, UTC first."""
    names = [name for name in available_timezones() if name.split("/")[0] in AREAS]
    return ("UTC", *sorted(names))


def read_zone(name: str, field: str = "time_zone") -> ZoneInfo:
    """Return the time zone of a name, or raise ConfigError for its field."""
    if name != "UTC" and name not in available_timezones():
        raise ConfigError(
            Text("there is no time zone with this name"),
            hint=Text("Enter a name such as Europe/Berlin or UTC."),
            field=field,
        )
    return ZoneInfo(name)


def installation_zone() -> str:
    """Return the time zone that the setting OUTKEY names; "" if it names none."""
    setting = getattr(settings, "OUTKEY", None)
    name = setting.get("TIME_ZONE") if isinstance(setting, Mapping) else None
    return str(name or "")


def chosen_zone(user: User) -> str:
    """Return the time zone that a user has chosen; "" if they have chosen none."""
    if not user.is_authenticated:
        return ""
    rows = UserSettings.objects.filter(user=str(user.pk))
    return rows.values_list("time_zone", flat=True).first() or ""


def choose_zone(user: User, name: str) -> None:
    """Save the time zone of a user; "" for that of the installation."""
    if name:
        read_zone(name)
    UserSettings.objects.update_or_create(
        user=str(user.pk), defaults={"time_zone": name}
    )


def delete_settings(instance: Model, **_signal: object) -> None:
    """Delete the settings of a user who is deleted."""
    UserSettings.objects.filter(user=str(instance.pk)).delete()


def _time_zone_of(request: HttpRequest) -> AbstractContextManager[None]:
    """Return a context with the time zone of the user, read once for each request.

    Without a choice it is that of the installation, else the one that is active.
    """
    user = getattr(request, "user", None)
    if user is None:
        return nullcontext()
    name = getattr(request, ON_REQUEST, None)
    if name is None:
        name = chosen_zone(user) or installation_zone()
        setattr(request, ON_REQUEST, name)
    try:
        return timezone.override(read_zone(name)) if name else nullcontext()
    except ConfigError:  # this machine does not know the zone any more
        return nullcontext()


def in_time_zone(
    view: Callable[..., HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Show a page in the time zone of its user, whatever middleware a project has."""

    @wraps(view)
    def show(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        with _time_zone_of(request):
            return view(request, *args, **kwargs)

    return show


class TimeZoneMiddleware:
    """Shows every page in the time zone of its user, also those of other apps."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Activate the time zone for one request."""
        with _time_zone_of(request):
            return self._get_response(request)
