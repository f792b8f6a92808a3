"""Users of the embedded host, in the look of its theme."""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

admin.site.unregister(User)
admin.site.unregister(Group)


@admin.register(User)
class ThemedUserAdmin(UserAdmin, ModelAdmin):  # type: ignore[misc,type-arg]  # unfold has no types
    """Who may log in, and in which group they are."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def save_model(self, request: HttpRequest, obj: User, form: object, change: bool) -> None:  # noqa: FBT001 - Django's own
        """Let a new user in: these pages are all there is to log in to."""
        obj.is_staff = obj.is_staff or not change
        super().save_model(request, obj, form, change)


@admin.register(Group)
class ThemedGroupAdmin(GroupAdmin, ModelAdmin):  # type: ignore[misc]
    """Administrator, Operator and Auditor, and whatever you add."""
