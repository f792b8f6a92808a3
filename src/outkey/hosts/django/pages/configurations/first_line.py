"""The step after a configuration works: a first sync line brings records in."""

from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from outkey.foundation.core.permission import Permission
from outkey.hosts.django.models import SyncLine
from outkey.hosts.django.pages.access import (
    may,
    visible,
)
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.health import Health


def url_of_first_line(
    request: HttpRequest, stored: Configuration, health: Health
) -> str:
    """Return the URL that adds a first line to a configuration, or "".

    That is the next step of a user who may add lines, once the configuration is known
    to work and until it has a line that synchronizes.
    """
    works = health.is_proved and not health.cause
    if not works or not may(request, Permission.ADD_LINE):
        return ""
    lines = visible(SyncLine).filter(sync__isnull=False)
    lines = lines.filter(configuration__name=stored.name)
    if lines.exists():
        return ""
    query = urlencode({"configuration": stored.name})
    return f"{reverse('admin:outkey_syncline_add')}?{query}"
