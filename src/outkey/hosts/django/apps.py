"""How Django knows the app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OutkeyConfig(AppConfig):
    """API Sync, under a label that no other app has."""

    name = "outkey.hosts.django"
    label = "outkey"
    verbose_name = _("API Sync")
    default_auto_field = "django.db.models.BigAutoField"
