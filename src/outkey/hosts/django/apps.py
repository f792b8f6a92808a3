"""How Django knows the app."""

from django.apps import AppConfig, apps
from django.conf import settings
from django.db.backends.signals import connection_created
from django.db.models.signals import post_delete, post_migrate
from django.utils.translation import gettext_lazy as _

from outkey.hosts.django.rows.tolerant_connections import tolerate_odd_columns


class OutkeyConfig(AppConfig):
    """API Sync, under a label that no other app has."""

    name = "outkey.hosts.django"
    label = "outkey"
    verbose_name = _("API Sync")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Make the groups after the permissions; delete settings with their user."""
        connection_created.connect(tolerate_odd_columns)
        if apps.is_installed("django.contrib.auth"):
            from outkey.hosts.django.groups import make_groups
            from outkey.hosts.django.time_zones import delete_settings

            post_migrate.connect(make_groups, sender=self)
            post_delete.connect(delete_settings, sender=settings.AUTH_USER_MODEL)
