"""Accounts of the pages, as the command line manages them without signing in."""

from collections import Counter
from secrets import token_urlsafe

from axes.utils import reset  # type: ignore[import-untyped]  # axes has no types
from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from outkey.administration.core.access.roles import ROLES
from outkey.administration.engine.application import Application
from outkey.administration.engine.editing.administration import Administration
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.command_host import AccountFacts
from outkey.hosts.django.pages.access import web_actor
from outkey.hosts.server.users.personal import (
    data_about,
    delete_old,
    erase,
    refuse_last_administrator,
    sessions_of,
    user_named,
)
from outkey.hosts.server.users.user_changes import key_of
from outkey.sending.core.audit.events import Tag
from outkey.sending.core.configuration.owners import EVERYTHING, Reach

ADMINISTRATOR = "Administrator"


class EmbeddedAccounts:
    """The accounts of the embedded home's pages."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def add(
        self,
        name: str,
        *,
        role: str,
        password: str,
        owners: frozenset[str] | None = None,
        administration: Administration,
    ) -> str | None:
        """Create a user with a role; return the password if it was generated."""
        user, groups = _new_user(name, role)
        generated = _choose_password(user, password)
        fields = ["is_superuser"] if user.is_superuser else []
        fields += [f"groups +{group.name}" for group in groups]
        fields += [f"owners +{owner}" for owner in sorted(owners or ())]
        administration.note(Tag.USER_CREATED, "", *fields, key=key_of(user))
        with transaction.atomic():  # nobody signs in before the limit is there
            user.save()
            user.groups.set(groups)
            if owners is not None:
                self._application.user_owners.put(str(user.pk), owners)
        return generated

    def set_owners(
        self,
        name: str,
        owners: frozenset[str] | None,
        *,
        administration: Administration,
    ) -> list[str]:
        """Limit a user to owners; None ends the limit.

        The API tokens of the user that see more are revoked; return their names.
        """
        user = user_named(name)
        limits = self._application.user_owners
        before = limits.reach(str(user.pk)).owners or frozenset()
        after = owners or frozenset()
        added = [f"owners +{owner}" for owner in sorted(after - before)]
        removed = [f"owners -{owner}" for owner in sorted(before - after)]
        administration.note(
            Tag.USER_UPDATED, "", "owners", *added, *removed, key=key_of(user)
        )
        limits.put(str(user.pk), owners)
        return self._application.api_tokens.revoke_beyond(
            administration, web_actor(name), Reach(owners=owners)
        )

    def refuse_new(self, name: str, role: str) -> None:
        """Refuse a name that is taken or invalid, and an unknown role."""
        _new_user(name, role)

    def list_users(self) -> list[AccountFacts]:
        """Return the facts of all accounts, by name."""
        counts = Counter(
            token.created_by for token in self._application.api_tokens.active()
        )
        limits = self._application.user_owners.all()
        users = User.objects.prefetch_related("groups").order_by("username")
        return [
            {
                "name": user.username,
                "active": user.is_active,
                "superuser": user.is_superuser,
                "groups": sorted(group.name for group in user.groups.all()),
                "last_login": user.last_login,
                "owners": _listed_owners(limits.get(str(user.pk), EVERYTHING)),
                "tokens": counts[web_actor(user.username)],
            }
            for user in users
        ]

    def disable(self, name: str, *, administration: Administration) -> list[str]:
        """Refuse further sign-ins of a user and end the sessions; the account stays.

        The API tokens of the user are revoked; return their names.
        """
        user = user_named(name)
        refuse_last_administrator(user)
        administration.note(Tag.USER_UPDATED, "", "is_active", key=key_of(user))
        with transaction.atomic():
            # Two commands at once must not disable the last two administrators.
            list(
                User.objects.select_for_update()
                .filter(is_superuser=True)
                .order_by("pk")
            )
            refuse_last_administrator(user)
            user.is_active = False
            user.save(update_fields=["is_active"])
            for session in sessions_of(
                user
            ):  # or they would go on if it is enabled again
                session.delete()
        return self.revoke_tokens(name, administration=administration)

    def set_password(
        self, name: str, *, password: str, administration: Administration
    ) -> str | None:
        """Replace a user's password and unlock the sign-in; their sessions end."""
        user = user_named(name)
        generated = _choose_password(user, password)
        administration.note(Tag.PASSWORD_SET, key=key_of(user))
        user.save(update_fields=["password"])
        reset(username=name)
        return generated

    def audit_key(self, name: str) -> str:
        """Return the name of an account in the audit."""
        return key_of(user_named(name))

    def export(self, name: str) -> dict[str, object]:
        """Return everything that is stored about a user."""
        application = self._application
        user = user_named(name)
        data = data_about(user, application.audit_trail.rows, application.api_tokens)
        owners = _listed_owners(application.user_owners.reach(str(user.pk)))
        return {**data, "owners": owners}

    def refuse_erasure(self, name: str) -> None:
        """Refuse to erase the last administrator."""
        refuse_last_administrator(user_named(name))

    def revoke_tokens(self, name: str, *, administration: Administration) -> list[str]:
        """Revoke the API tokens that a user has created; return their names."""
        tokens = self._application.api_tokens
        return tokens.revoke_all_of(administration, web_actor(name))

    def erase(self, name: str) -> str:
        """Delete an account; return the name that replaces it beside secrets."""
        application = self._application
        user = user_named(name)
        key = str(user.pk)
        replacement = erase(user, application.registry, application.api_tokens)
        # Not before it: the user must not be unlimited for a moment.
        application.user_owners.put(key, None)
        return replacement

    def prune(self, days: int) -> int:
        """Delete sign-ins older than this and ended sessions; return how many."""
        return delete_old(days)


def _listed_owners(reach: Reach) -> list[str] | None:
    """Return the owners of a limit; None for none."""
    return None if reach.owners is None else sorted(reach.owners)


def _new_user(name: str, role: str) -> tuple[User, list[Group]]:
    """Return a user that is not saved yet, with its groups, or raise ConfigError."""
    role_name = _role_named(role)
    is_administrator = role_name == ADMINISTRATOR
    groups = list(Group.objects.filter(name=role_name))
    # An administrator may do everything without it, and may be the way back in.
    if role_name and not groups and not is_administrator:
        raise _group_missing(role_name)
    user = User(username=name, is_staff=True, is_superuser=is_administrator)
    try:
        user.clean_fields(exclude=["password"])
        user.validate_unique()
    except ValidationError:
        raise ConfigError(
            Text("the name is taken, too long, or has a character that is not allowed"),
            hint=Text("A name has up to 150 letters, digits and @ . + - _"),
            field="NAME",
        ) from None
    return user, groups


def _role_named(text: str) -> str:
    """Return the role of that name, in any case; empty for none."""
    for name in ("", *ROLES):
        if name.casefold() == text.casefold():
            return name
    raise ConfigError(
        Text("there is no role with that name"),
        hint=Text("The roles are {roles}.", roles=", ".join(ROLES)),
        field="--role",
    )


def _group_missing(role: str) -> ConfigError:
    """Return the error for a role whose group an administrator has deleted."""
    return ConfigError(
        Text("the group {name} was deleted or renamed", name=role),
        hint=Text("Create it again on the page Groups, or add a user without a role."),
        field="--role",
    )


def _choose_password(user: User, password: str) -> str | None:
    """Set a password on a user, not saved yet; return it if it was generated."""
    if not password:
        generated = token_urlsafe(12)
        user.set_password(generated)
        return generated
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise ConfigError(
            Text("the password is too weak"),
            hint=Text("{reasons}", reasons=" ".join(error.messages)),
            field="password",
        ) from None
    user.set_password(password)
    return None
