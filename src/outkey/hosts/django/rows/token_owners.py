"""Users who created API tokens, in a process that has Django's users."""

from typing import Any

from django.contrib.auth import get_user_model

from outkey.administration.core.access.token_owners import (
    TokenOwner,
    TokenProblem,
    token_problems,
)
from outkey.administration.engine.application import Application
from outkey.sending.core.audit.actors import user_of_pages
from outkey.sending.core.configuration.owners import EVERYTHING

OUTKEY = "outkey."  # before the names of permissions, as Django has them


def token_owners(application: Application) -> dict[str, TokenOwner]:
    """Return the users who created API tokens, by name."""
    creators = {token.created_by for token in application.api_tokens.all()}
    names = [name for name in map(user_of_pages, creators) if name]
    model: Any = get_user_model()  # a project may have its own
    users = model.objects.filter(**{f"{model.USERNAME_FIELD}__in": names})
    limits = application.user_owners.all()
    return {
        user.get_username(): TokenOwner(
            is_active=user.is_active,
            permissions=None
            if user.is_superuser
            else frozenset(
                name.removeprefix(OUTKEY)
                for name in user.get_all_permissions()
                if name.startswith(OUTKEY)
            ),
            reach=limits.get(str(user.pk), EVERYTHING),
        )
        for user in users
    }


def problems_by_token(application: Application) -> dict[str, TokenProblem]:
    """Return the problems with the creators of accepted tokens, by token."""
    problems = token_problems(
        application.api_tokens.all(),
        token_owners(application),
        application.database.now(),
    )
    return {problem.token: problem for problem in problems}
