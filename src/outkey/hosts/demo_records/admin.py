"""The records that sync lines of the demo have pulled, read-only."""

from django.contrib import admin
from django.http import HttpRequest

from outkey.hosts.demo_records.models import Contact, Order
from outkey.hosts.server.web.light_admin import LightAdmin


class ReadOnlyAdmin(LightAdmin):
    """A list that cannot be changed."""

    list_per_page = 50

    def has_add_permission(self, _request: HttpRequest) -> bool:
        """Whether a user may add records: never."""
        return False

    def has_change_permission(self, _request: HttpRequest, _obj: object = None) -> bool:
        """Whether a user may change records: never."""
        return False

    def has_delete_permission(self, _request: HttpRequest, _obj: object = None) -> bool:
        """Whether a user may delete records: never."""
        return False


@admin.register(Contact)
class ContactAdmin(ReadOnlyAdmin):
    """Contacts, without the password that no page shows."""

    list_display = (
        "external_id",
        "name",
        "email",
        "kind",
        "credit",
        "active",
        "changed_at",
    )
    search_fields = ("external_id", "name", "email")
    ordering = ("external_id",)
    exclude = ("portal_password",)


@admin.register(Order)
class OrderAdmin(ReadOnlyAdmin):
    """Orders, each with its contact."""

    list_display = ("year", "number", "contact", "ordered_at", "weight", "reference")
    search_fields = ("=number", "reference", "contact__name")
    list_select_related = ("contact",)
    ordering = ("year", "number")
