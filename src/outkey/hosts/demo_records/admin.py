"""What lines of the demo have brought, to look at: nothing is written by hand."""

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from outkey.hosts.demo_records.models import Contact, Order


class _Looked(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """Records for whoever may view them."""

    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002 - Django's own
        """Nobody adds."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:  # noqa: ARG002
        """Nobody changes."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:  # noqa: ARG002
        """Nobody deletes."""
        return False


@admin.register(Contact)
class ContactAdmin(_Looked):
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
class OrderAdmin(_Looked):
    """Orders, each with its contact."""

    list_display = ("year", "number", "contact", "ordered_at", "weight", "reference")
    search_fields = ("=number", "reference", "contact__name")
    list_select_related = ("contact",)
    ordering = ("year", "number")
