"""Users of the embedded host, in the look of its theme.

Every change of a user, a group or their rights is recorded first, and nobody gives, takes or uses
rights beyond their own. Django's admin saves inside a transaction, where nothing can be recorded:
so a form is validated once for the record, and then again by Django.
"""

from collections.abc import Callable
from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from outkey.core.access.user_rights import STAFF, SUPERUSER, Rights
from outkey.core.audit.events import Tag
from outkey.hosts.django.pages.shell import errors_as_page
from outkey.hosts.server.user_changes import (
    key_of,
    note_change,
    note_plain,
    rights_of,
    rights_of_permissions,
    rights_of_target,
    rights_of_user,
)

admin.site.unregister(User)
admin.site.unregister(Group)
Target = User | Group
_FIELDS = {SUPERUSER: "is_superuser", STAFF: "is_staff"}


def _shown(
    view: Callable[[HttpRequest], HttpResponseBase], request: HttpRequest
) -> HttpResponse:
    """Return the page of a view, or a page that says why it could not be done."""
    return cast("HttpResponse", errors_as_page(view)(request))


class _GuardedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Records changes before they happen, and refuses rights beyond one's own."""

    created: Tag
    updated: Tag
    deleted: Tag
    link_field = "permissions"  # where an error about a permission is shown

    def rights_after(self, form: BaseForm) -> Rights:
        """Return the rights as they would be with what was entered."""
        raise NotImplementedError

    def has_change_permission(
        self, request: HttpRequest, obj: Target | None = None
    ) -> bool:
        """Refuse to change who has rights beyond one's own, whatever the permissions say."""
        return super().has_change_permission(request, obj) and self._covers(
            request, obj
        )

    def has_delete_permission(
        self, request: HttpRequest, obj: Target | None = None
    ) -> bool:
        """Refuse to delete who has rights beyond one's own; asked for each of a bulk action."""
        return super().has_delete_permission(request, obj) and self._covers(
            request, obj
        )

    def get_form(  # type: ignore[override]  # its other arguments are passed on
        self, request: HttpRequest, obj: Target | None = None, **options: object
    ) -> type[Any]:
        """Return a form that refuses to give rights beyond those of whoever uses it."""
        place = self
        actor = rights_of_user(request.user)

        class Form(super().get_form(request, obj, **options)):  # type: ignore[misc]
            def clean(self) -> dict[str, Any] | None:
                cleaned: dict[str, Any] | None = super().clean()
                missing = actor.lacks(place.rights_after(self))
                fields = {_FIELDS.get(name, place.link_field) for name in missing}
                for field in sorted(fields):
                    message = _("You cannot give rights that you do not have yourself.")
                    self.add_error(field if field in self.fields else None, message)
                return cleaned

        return Form

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show and save a new one; where it cannot be recorded, it is not saved."""

        def view(request: HttpRequest) -> HttpResponseBase:
            if request.method == "POST" and self.has_add_permission(request):
                self._record_save(request, self.created)
            return super(_GuardedAdmin, self).add_view(request, form_url, extra_context)

        return _shown(view, request)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show and save one; where the change cannot be recorded, it is not saved."""

        def view(request: HttpRequest) -> HttpResponseBase:
            target = self.get_object(request, unquote(object_id))
            is_allowed = target is not None and self.has_change_permission(
                request, target
            )
            if request.method == "POST" and is_allowed:
                self._record_save(request, self.updated, target)
            return super(_GuardedAdmin, self).change_view(
                request, object_id, form_url, extra_context
            )

        return _shown(view, request)

    def delete_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Ask, and delete; where it cannot be recorded, nothing is deleted."""

        def view(request: HttpRequest) -> HttpResponseBase:
            target = self.get_object(request, unquote(object_id))
            if request.method == "POST" and target is not None:
                if not self.has_delete_permission(request, target):
                    raise PermissionDenied
                note_plain(request.user, self.deleted, target)
            return super(_GuardedAdmin, self).delete_view(
                request, object_id, extra_context
            )

        return _shown(view, request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """List them; a bulk action that cannot be recorded is not done."""
        view = super().changelist_view
        return _shown(lambda request: view(request, extra_context), request)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete what was ticked, after all of it is recorded."""
        targets = list(queryset)
        if not all(self.has_delete_permission(request, target) for target in targets):
            raise PermissionDenied
        note_plain(request.user, self.deleted, *targets)
        super().delete_queryset(request, queryset)

    def _covers(self, request: HttpRequest, obj: Target | None) -> bool:
        # Whoever has more rights could be changed otherwise: their password set, or deleted.
        return obj is None or rights_of_user(request.user).covers(rights_of_target(obj))

    def _record_save(
        self, request: HttpRequest, tag: Tag, target: Target | None = None
    ) -> None:
        """Record what the posted form changes; Django says what is wrong with any other."""
        key = (
            key_of(target) if target is not None else None
        )  # validating renames it already
        fields = flatten_fieldsets(self.get_fieldsets(request, target))
        form_class = self.get_form(
            request, target, change=target is not None, fields=fields
        )
        form = form_class(request.POST, instance=target)
        if form.is_valid():
            note_change(request.user, tag, key or key_of(form.instance), form)


@admin.register(User)
class ThemedUserAdmin(_GuardedAdmin, UserAdmin, ModelAdmin):  # type: ignore[misc,type-arg]
    """Who may log in, and in which group they are."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    created, updated, deleted = Tag.USER_CREATED, Tag.USER_UPDATED, Tag.USER_DELETED
    link_field = "user_permissions"

    def rights_after(self, form: BaseForm) -> Rights:
        """Return the rights of a user with what was entered."""
        entered = form.cleaned_data
        user = User(
            is_superuser=entered.get("is_superuser", False),
            is_staff=entered.get("is_staff", False),
        )
        return rights_of(
            user, entered.get("groups", ()), entered.get("user_permissions", ())
        )

    def save_model(
        self,
        request: HttpRequest,
        obj: User,
        form: object,
        change: bool,  # noqa: FBT001 - Django's own
    ) -> None:
        """Let a new user in: these pages are all there is to log in to."""
        obj.is_staff = obj.is_staff or not change
        super().save_model(request, obj, form, change)

    def user_change_password(
        self,
        request: HttpRequest,
        id: str,  # noqa: A002 - Django's own
        form_url: str = "",
    ) -> HttpResponse:
        """Set somebody else's password; one's own needs the old one."""
        target = self.get_object(request, unquote(id))
        if target is not None and target.pk == request.user.pk:
            return HttpResponseRedirect(reverse("admin:password_change"))

        def view(request: HttpRequest) -> HttpResponseBase:
            if request.method == "POST" and target is not None:
                if not self.has_change_permission(request, target):
                    raise PermissionDenied
                if self.change_password_form(target, request.POST).is_valid():
                    note_plain(request.user, Tag.PASSWORD_SET, target)
            return super(ThemedUserAdmin, self).user_change_password(
                request, id, form_url
            )

        return _shown(view, request)


@admin.register(Group)
class ThemedGroupAdmin(_GuardedAdmin, GroupAdmin, ModelAdmin):  # type: ignore[misc]
    """Administrator, Operator and Auditor, and whatever you add."""

    created, updated, deleted = Tag.GROUP_CREATED, Tag.GROUP_UPDATED, Tag.GROUP_DELETED

    def rights_after(self, form: BaseForm) -> Rights:
        """Return the rights that a group gives with what was entered."""
        return rights_of_permissions(form.cleaned_data.get("permissions", ()))
