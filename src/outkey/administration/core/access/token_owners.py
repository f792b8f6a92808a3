"""Users who created API tokens: a token must not outlive what its creator may do.

Tokens that an operator creates on the command line have no such user.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from outkey.administration.core.access.api_tokens import ApiToken
from outkey.administration.core.access.token_permissions import token_needs
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.actors import user_of_pages
from outkey.sending.core.configuration.owners import EVERYTHING, Reach


@dataclass(frozen=True, slots=True)
class TokenOwner:
    """The facts about a user; `permissions` is None for all of them."""

    is_active: bool
    permissions: frozenset[str] | None = frozenset()
    reach: Reach = EVERYTHING


class TokenProblem(NamedTuple):
    """A token that is accepted although its creator may not do what it does."""

    token: str
    message: Text


def token_problems(
    tokens: Iterable[ApiToken], owners: Mapping[str, TokenOwner], now: float
) -> Iterator[TokenProblem]:
    """Yield the tokens whose creators are missing, disabled or lack a permission.

    `owners` are all users, by name.
    """
    for token in tokens:
        user = user_of_pages(token.created_by)
        if user is None or not token.is_active(now):
            continue
        problem = _problem(token, user, owners.get(user))
        if problem is not None:
            yield TokenProblem(token.name, problem)


def _problem(token: ApiToken, user: str, owner: TokenOwner | None) -> Text | None:
    if owner is None:
        return Text(
            "{token}: the user {user} does not exist", token=token.name, user=user
        )
    if not owner.is_active:
        return Text("{token}: the user {user} is disabled", token=token.name, user=user)
    if not owner.reach.covers(token.owners):
        return Text(
            "{token}: the user {user} is limited to fewer owners",
            token=token.name,
            user=user,
        )
    if owner.permissions is None:
        return None
    needs = token_needs(token.scopes, allow_internal=token.allow_internal)
    missing = sorted(needs - owner.permissions)
    if not missing:
        return None
    return Text(
        "{token}: the user {user} lacks {permissions}",
        token=token.name,
        user=user,
        permissions=", ".join(missing),
    )
