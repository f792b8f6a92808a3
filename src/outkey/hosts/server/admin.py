"""Users and groups of the embedded host.

Every change of a user, a group or their rights is recorded first, and nobody gives,
takes or uses rights beyond their own. Django's admin saves inside a transaction, where
nothing can be recorded: so a form is validated once for the record, then by Django.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import (
    ReadOnlyPasswordHashField,
    ReadOnlyPasswordHashWidget,
    UserChangeForm,
)
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from outkey.administration.core.access.user_rights import (
    STAFF,
    SUPERUSER,
    AccountRights,
)
from outkey.hosts.django.pages.shell import errors_as_page
from outkey.hosts.server.users.tokens_of_users import end_tokens, watch_tokens
from outkey.hosts.server.users.user_changes import (
    key_of,
    note_change,
    note_plain,
    rights_of,
    rights_of_permissions,
    rights_of_target,
    rights_of_user,
)
from outkey.hosts.server.web.light_admin import LightAdmin
from outkey.sending.core.audit.events import Tag

admin.site.site_title = "outkey"
admin.site.site_header = "outkey"
admin.site.unregister(User)
admin.site.unregister(Group)
# The jobs of the queue are our runs, which have pages; its own would load jQuery.
if apps.is_installed("procrastinate.contrib.django"):
    from procrastinate.contrib.django.models import ProcrastinateJob

    admin.site.unregister(ProcrastinateJob)
Target = User | Group
_FIELDS = {SUPERUSER: "is_superuser", STAFF: "is_staff"}


class PasswordState(ReadOnlyPasswordHashWidget):
    """Shows whether there is a password, and nothing of how it is stored."""

    def get_context(
        self, name: str, value: str | None, attrs: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Return the context of the template."""
        context = super().get_context(name, value, attrs)
        if any("value" in part for part in context["summary"]):
            context["summary"] = [{"label": _("A password is set.")}]
        return context


class UserForm(UserChangeForm):  # type: ignore[type-arg]
    """The form of a user."""

    password = ReadOnlyPasswordHashField(
        label=gettext_lazy("Password"), widget=PasswordState
    )


def _page_or_error(
    view: Callable[[HttpRequest], HttpResponseBase], request: HttpRequest
) -> HttpResponse:
    """Return the page of a view, or the page of the error that it raised."""
    return cast("HttpResponse", errors_as_page(view)(request))


class GuardedAdmin(LightAdmin):
    """Records changes before they happen, and refuses rights beyond one's own."""

    created_tag: Tag
    updated_tag: Tag
    deleted_tag: Tag
    link_field = "permissions"  # where an error about a permission is shown

    def rights_after(self, form: BaseForm) -> AccountRights:
        """Return the rights that the values of a form would give."""
        raise NotImplementedError

    def finish_change(self, request: HttpRequest, targets: Sequence[Target]) -> None:
        """Do what follows a change or a deletion; `targets` are as they were before."""

    def has_change_permission(
        self, request: HttpRequest, obj: Target | None = None
    ) -> bool:
        """Refuse to change a user or group that has rights beyond the actor's own."""
        return super().has_change_permission(request, obj) and self._covers(
            request, obj
        )

    def has_delete_permission(
        self, request: HttpRequest, obj: Target | None = None
    ) -> bool:
        """Refuse to delete a user or group that has rights beyond the actor's own."""
        return super().has_delete_permission(request, obj) and self._covers(
            request, obj
        )

    def get_form(  # type: ignore[override]  # its other arguments are passed on
        self, request: HttpRequest, obj: Target | None = None, **options: object
    ) -> type[Any]:
        """Return a form that refuses to give rights beyond those of its user."""
        guard = self
        actor = rights_of_user(request.user)

        class Form(super().get_form(request, obj, **options)):  # type: ignore[misc]
            def clean(self) -> dict[str, Any] | None:
                cleaned: dict[str, Any] | None = super().clean()
                missing = actor.lacks(guard.rights_after(self))
                fields = {_FIELDS.get(name, guard.link_field) for name in missing}
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
        """Show the form and save it; what cannot be recorded is not saved."""

        def view(request: HttpRequest) -> HttpResponseBase:
            if request.method == "POST" and self.has_add_permission(request):
                self._record_save(request, self.created_tag)
            return super(GuardedAdmin, self).add_view(request, form_url, extra_context)

        return _page_or_error(view, request)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show the form and save it; what cannot be recorded is not saved."""

        def view(request: HttpRequest) -> HttpResponseBase:
            target = self.get_object(request, unquote(object_id))
            is_allowed = target is not None and self.has_change_permission(
                request, target
            )
            if request.method == "POST" and is_allowed:
                self._record_save(request, self.updated_tag, target)
            return self._watch(
                request,
                target if is_allowed else None,
                lambda: super(GuardedAdmin, self).change_view(
                    request, object_id, form_url, extra_context
                ),
            )

        return _page_or_error(view, request)

    def delete_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Ask, then delete; what cannot be recorded is not deleted."""

        def view(request: HttpRequest) -> HttpResponseBase:
            target = self.get_object(request, unquote(object_id))
            if request.method == "POST" and target is not None:
                if not self.has_delete_permission(request, target):
                    raise PermissionDenied
                note_plain(request.user, self.deleted_tag, target)
            return self._watch(
                request,
                target,
                lambda: super(GuardedAdmin, self).delete_view(
                    request, object_id, extra_context
                ),
            )

        return _page_or_error(view, request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list; a bulk action that cannot be recorded is not done."""
        view = super().changelist_view
        return _page_or_error(lambda request: view(request, extra_context), request)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Delete the selected rows, after all of it is recorded."""
        targets = list(queryset)
        if not all(self.has_delete_permission(request, target) for target in targets):
            raise PermissionDenied
        note_plain(request.user, self.deleted_tag, *targets)
        with watch_tokens(request):
            super().delete_queryset(request, queryset)
            self.finish_change(request, targets)

    def _watch(
        self,
        request: HttpRequest,
        target: Target | None,
        view: Callable[[], HttpResponse],
    ) -> HttpResponse:
        """Show a view that may change a target, and do what follows the change."""
        if request.method != "POST" or target is None:
            return view()
        # As it was: the form of the view changes another object.
        before = type(target).objects.filter(pk=target.pk).first()
        with watch_tokens(request):
            response = view()
            if before is not None:
                self.finish_change(request, [before])
        return response

    def _covers(self, request: HttpRequest, obj: Target | None) -> bool:
        # Otherwise a user could set the password of one who has more rights.
        return obj is None or rights_of_user(request.user).covers(rights_of_target(obj))

    def _record_save(
        self, request: HttpRequest, tag: Tag, target: Target | None = None
    ) -> None:
        """Record what a valid form changes; Django reports what is wrong otherwise."""
        # Before the form is validated, which renames the target.
        key = key_of(target) if target is not None else None
        fields = flatten_fieldsets(self.get_fieldsets(request, target))
        form_class = self.get_form(
            request, target, change=target is not None, fields=fields
        )
        form = form_class(request.POST, instance=target)
        if form.is_valid():
            note_change(request.user, tag, key or key_of(form.instance), form)


@admin.register(User)
class GuardedUserAdmin(GuardedAdmin, UserAdmin):  # type: ignore[type-arg]
    """Who may sign in, and in which groups they are."""

    form = UserForm
    created_tag = Tag.USER_CREATED
    updated_tag = Tag.USER_UPDATED
    deleted_tag = Tag.USER_DELETED
    link_field = "user_permissions"
    readonly_fields = ("last_login", "date_joined")
    list_display = ("username", "email", "is_active", "is_superuser", "last_login")
    list_filter = ("is_active", "is_superuser", "groups")
    filter_horizontal = ()

    def rights_after(self, form: BaseForm) -> AccountRights:
        """Return the rights that the values of a form would give a user."""
        values = form.cleaned_data
        user = User(
            is_superuser=values.get("is_superuser", False),
            is_staff=values.get("is_staff", False),
        )
        return rights_of(
            user, values.get("groups", ()), values.get("user_permissions", ())
        )

    def finish_change(self, request: HttpRequest, targets: Sequence[Target]) -> None:
        """Revoke the API tokens of users who are disabled or deleted."""
        for user in targets:
            assert isinstance(user, User)  # noqa: S101 - for the type checker
            end_tokens(request, user)

    def save_model(
        self,
        request: HttpRequest,
        obj: User,
        form: object,
        change: bool,  # noqa: FBT001 - Django's own
    ) -> None:
        """Let a new user sign in: there are no other pages to sign in to."""
        obj.is_staff = obj.is_staff or not change
        super().save_model(request, obj, form, change)

    def user_change_password(
        self,
        request: HttpRequest,
        id: str,  # noqa: A002 - Django's own
        form_url: str = "",
    ) -> HttpResponse:
        """Set the password of another user; one's own needs the old one."""
        target = self.get_object(request, unquote(id))
        if target is not None and target.pk == request.user.pk:
            return HttpResponseRedirect(reverse("admin:password_change"))

        def view(request: HttpRequest) -> HttpResponseBase:
            if request.method == "POST" and target is not None:
                if not self.has_change_permission(request, target):
                    raise PermissionDenied
                if self.change_password_form(target, request.POST).is_valid():
                    note_plain(request.user, Tag.PASSWORD_SET, target)
            return super(GuardedUserAdmin, self).user_change_password(
                request, id, form_url
            )

        return _page_or_error(view, request)


@admin.register(Group)
class GuardedGroupAdmin(GuardedAdmin, GroupAdmin):  # type: ignore[misc]
    """Administrator, Operator and Auditor, and groups that an administrator adds."""

    created_tag = Tag.GROUP_CREATED
    updated_tag = Tag.GROUP_UPDATED
    deleted_tag = Tag.GROUP_DELETED
    filter_horizontal = ()

    def rights_after(self, form: BaseForm) -> AccountRights:
        """Return the rights that the values of a form would give a group."""
        return rights_of_permissions(form.cleaned_data.get("permissions", ()))
