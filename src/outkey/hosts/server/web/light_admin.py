"""The base of all lists and forms of Django's admin in the embedded server."""

from typing import Any

from django.contrib import admin
from django.db.models import ManyToManyField
from django.forms import CheckboxSelectMultiple, Media, ModelMultipleChoiceField
from django.http import HttpRequest, HttpResponse
from django.utils.text import capfirst


class LightAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # at run time
    """Loads only the scripts that its pages use, and names a list after its records.

    Django's own would load jQuery and XRegExp, for popups and slugs.
    """

    @property
    def media(self) -> Media:
        """Return the scripts of lists and forms."""
        return Media(js=["admin/js/core.js", "admin/js/actions.js"])

    def formfield_for_manytomany(
        self,
        db_field: "ManyToManyField[Any, Any]",
        request: HttpRequest,
        **options: object,
    ) -> "ModelMultipleChoiceField[Any] | None":
        """Return checkboxes, which need neither a script nor the Ctrl key."""
        options["widget"] = CheckboxSelectMultiple
        return super().formfield_for_manytomany(db_field, request, **options)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list, under the name of its records."""
        title = capfirst(str(self.opts.verbose_name_plural))
        return super().changelist_view(
            request, {"title": title, **(extra_context or {})}
        )
