"""The sealed secrets of a webhook, as they are stored."""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from outkey.foundation.core.state_shapes import known_members
from outkey.sending.core.vault.envelope import WEBHOOK_TABLE, Place

OFFERED_BY = "handshake"  # who has set a secret that the sender offered


@dataclass(frozen=True, slots=True)
class SealedWebhookSecret:
    """One secret of a webhook: its ciphertext, and who has entered it when.

    `offered_from` is the IP address of the handshake that offered it, if one did.
    """

    version: int
    sealed: bytes
    set_at: float = 0.0
    set_by: str = ""
    offered_from: str = ""

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the secret that stored facts describe; a damaged one is empty."""
        try:
            sealed = b64decode(facts["sealed"])
        except ValueError:
            sealed = b""
        return cls(**{**known_members(cls, facts), "sealed": sealed})

    def facts(self) -> dict[str, object]:
        """Return the secret as JSON can hold it."""
        return {
            "version": self.version,
            "sealed": b64encode(self.sealed).decode(),
            "set_at": self.set_at,
            "set_by": self.set_by,
            "offered_from": self.offered_from,
        }


def secret_place(endpoint: str, name: str, version: int) -> Place:
    """Return the place of a webhook's secret; an endpoint is never used again."""
    return Place(WEBHOOK_TABLE, endpoint, name, version, "")


def sealed_secrets(facts: Mapping[str, Any]) -> dict[str, SealedWebhookSecret]:
    """Return the secrets in the stored facts of a webhook, by name."""
    return {
        name: SealedWebhookSecret.from_facts(secret)
        for name, secret in facts["secrets"].items()
    }
