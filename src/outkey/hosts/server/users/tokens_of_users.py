"""API tokens of users whose accounts or rights are changed on the pages."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils.translation import gettext as _

from outkey.hosts.django.installed import installation
from outkey.hosts.django.pages.access import (
    administration_for,
    web_actor,
)
from outkey.hosts.django.rows.token_owners import problems_by_token
from outkey.hosts.django.translation import translate_text


def end_tokens(request: HttpRequest, before: User) -> None:
    """Revoke the tokens of a user who is disabled or deleted; follow a new name."""
    tokens = installation().api_tokens
    creator = web_actor(before.get_username())
    user = User.objects.filter(pk=before.pk).first()
    if user is not None and user.is_active:
        if user.get_username() != before.get_username():
            tokens.rename_creator(creator, web_actor(user.get_username()))
        return
    revoked = tokens.revoke_all_of(administration_for(request.user), creator)
    if revoked:
        messages.warning(
            request,
            _("The API tokens of %(user)s were revoked: %(tokens)s.")
            % {"user": before.get_username(), "tokens": ", ".join(revoked)},
        )


@contextmanager
def watch_tokens(request: HttpRequest) -> Iterator[None]:
    """Warn of API tokens that do more than their creators may, after a change."""
    before = problems_by_token(installation())
    yield
    after = problems_by_token(installation())
    new = [after[name].message for name in sorted(after.keys() - before.keys())]
    if new:
        messages.warning(
            request,
            _(
                "These API tokens do more now than the users who created them may do."
                " Revoke them if that is not intended: %s."
            )
            % "; ".join(translate_text(message) for message in new),
        )
