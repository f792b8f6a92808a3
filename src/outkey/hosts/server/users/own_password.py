"""Changing one's own password: a wrong old one counts as a failed sign-in."""

from typing import Any, cast

from django.contrib import admin
from django.contrib.auth import authenticate
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse_lazy

from outkey.hosts.django.pages.shell import errors_as_page
from outkey.hosts.server.users.user_changes import note_plain
from outkey.sending.core.audit.events import Tag


class OwnPasswordForm(PasswordChangeForm):
    """Checks the old password as a sign-in does, which counts and locks."""

    def __init__(
        self, user: User, *data: object, request: HttpRequest, **options: object
    ) -> None:
        super().__init__(user, *data, **options)
        self._request = request

    def clean_old_password(self) -> str:
        """Refuse a wrong old password, and every one while the sign-in is locked."""
        password: str = self.cleaned_data["old_password"]
        name = self.user.get_username()
        if authenticate(self._request, username=name, password=password) != self.user:
            message = self.error_messages["password_incorrect"]
            raise ValidationError(message, code="password_incorrect")
        return password


class OwnPasswordView(PasswordChangeView):
    """Changes one's own password, after that is recorded."""

    form_class = OwnPasswordForm
    success_url = reverse_lazy("admin:password_change_done")

    def get_form_kwargs(self) -> dict[str, Any]:
        """Give the form the request, whose address is counted."""
        return super().get_form_kwargs() | {"request": self.request}

    def get_context_data(self, **context: object) -> dict[str, Any]:
        """Show it as a page of the admin."""
        return super().get_context_data(
            **admin.site.each_context(self.request), **context
        )

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        """Save the new password; what cannot be recorded is not saved."""
        note_plain(self.request.user, Tag.PASSWORD_SET, cast("User", form.user))
        return super().form_valid(form)


def password_change(request: HttpRequest) -> HttpResponseBase:
    """Show and save the form for the signed-in user."""
    return admin.site.admin_view(
        errors_as_page(OwnPasswordView.as_view()), cacheable=True
    )(request)
