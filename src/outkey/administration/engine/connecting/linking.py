"""Making a connect link, and with it the connection if that is new."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from outkey.administration.engine.connecting.connectable import refuse_unconnectable
from outkey.administration.engine.connecting.links import link_key
from outkey.foundation.core.errors import ConfigError, UnknownConnection
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.connections.links import (
    DEFAULT_MINUTES,
    PATH,
    check_minutes,
)
from outkey.sending.core.connections.return_urls import refuse_return_url

if TYPE_CHECKING:
    from outkey.administration.engine.connecting.links import ConnectLinks
    from outkey.administration.engine.editing.connections import (
        ConnectionAdministration,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkWish:
    """The properties of a new link; the owner is that of the connection, if given."""

    minutes: int = DEFAULT_MINUTES
    return_url: str = ""
    allow_other_account: bool = False
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class CreatedLink:
    """A new link. Its URL is nowhere else, and is shown once."""

    url: str = field(repr=False)
    expires_at: float


@dataclass(frozen=True, slots=True)
class LinkAdministration:
    """The links that one user makes. Each is recorded in the audit first."""

    connections: ConnectionAdministration
    links: ConnectLinks
    public_url: str

    def create(self, name: str, connection: str, wish: LinkWish) -> CreatedLink:
        """Store a new link of a connection, which ends earlier ones.

        The connection is created if it is new.
        """
        if not self.public_url:
            raise ConfigError(
                Text("links need the public URL of this installation"),
                hint=Text(
                    "Set the environment variable OUTKEY_PUBLIC_URL to the URL that"
                    " users open, for example https://outkey.example.com."
                ),
                field="public_url",
            )
        administration = self.connections.administration
        seconds = check_minutes(wish.minutes) * 60.0
        return_url = wish.return_url
        if return_url:
            return_url = refuse_return_url(
                return_url, administration.policy().return_urls
            )
        refuse_unconnectable(administration.current(name))
        configuration = self._prepare(name, connection, wish.owner)
        administration.audit.note(
            Change(
                Tag.CONNECTION_LINKED,
                administration.actor,
                name,
                connection=connection,
            )
        )
        token, link = self.links.add(
            link_key(configuration, connection),
            seconds=seconds,
            by=administration.actor,
            return_url=return_url,
            allow_other_account=wish.allow_other_account,
        )
        return CreatedLink(
            f"{self.public_url.rstrip('/')}{PATH}{token}", link.expires_at
        )

    def _prepare(self, name: str, connection: str, owner: str | None) -> str:
        """Create the connection if it is new; return its configuration's record."""
        facts = {} if owner is None else {"owner": owner}
        try:
            seen = self.connections.current(name, connection)
        except UnknownConnection:
            seen = self.connections.create(name, connection, facts)
        else:
            self.connections.update(name, connection, facts)
        assert seen.connection is not None  # noqa: S101 - for the type checker
        return seen.connection.configuration
