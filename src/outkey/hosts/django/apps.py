"""How Django knows the app."""

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class OutkeyConfig(AppConfig):
    """API Sync, under a label that no other app has."""

    name = "outkey.hosts.django"
    label = "outkey"
    verbose_name = _("API Sync")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Make the groups once the permissions they hold are there."""
        if apps.is_installed("django.contrib.auth"):
            from outkey.hosts.django.groups import make_groups

            post_migrate.connect(make_groups, sender=self)
