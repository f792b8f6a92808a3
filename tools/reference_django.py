"""Django as a project would have it, for pages that describe outkey's Django parts."""

import django
from django.conf import settings


def configure_django() -> None:
    """Set Django up once, with outkey's app and without a database."""
    if settings.configured:
        return
    settings.configure(
        INSTALLED_APPS=[
            "django.contrib.admin",
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.messages",
            "django.contrib.sessions",
            "outkey.hosts.django",
        ],
        USE_TZ=True,
    )
    django.setup()
