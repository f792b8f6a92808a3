"""The ciphertexts of an installation with those of its webhooks, for key rotations."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from outkey.foundation.core.shared_state import SharedState, StateKind
from outkey.foundation.core.stored_values import is_odd
from outkey.foundation.ports.database import StateRows
from outkey.sending.core.vault.envelope import WEBHOOK_TABLE, named_key
from outkey.sending.core.vault.versions import SecretVersion
from outkey.sending.ports.storage import SecretRows
from outkey.webhooks.core.settings.sealed import sealed_secrets, secret_place


class SecretsWithWebhooks:
    """The rows of a host, and the secrets that webhooks have in shared states."""

    def __init__(
        self,
        rows: SecretRows,
        states: StateRows,
        *,
        unvouched: StateRows | None = None,
        code_uses: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._rows = rows
        self._states = states
        # The table itself, for webhooks that are not confirmed yet: their secrets
        # follow a rotation, and they stay unconfirmed.
        self._unvouched = unvouched or states
        self._code_uses = code_uses  # how many rows each key vouches for

    def read(self, records: Collection[str], field: str = "") -> list[SecretVersion]:
        return self._rows.read(records, field)

    def swap(self, before: SecretVersion | None, after: SecretVersion | None) -> bool:
        if before is None or before.place.table != WEBHOOK_TABLE:
            return self._rows.swap(before, after)
        for name, state, version in self._versions():
            if version == before and after is not None:
                return self._put(name, state, before, after)
        return False

    def sealed_by_others(self, key: str, limit: int) -> list[SecretVersion]:
        rows = self._rows.sealed_by_others(key, limit)
        rows += [
            version
            for _, _, version in self._versions()
            if named_key(version.sealed or b"") != key
        ]
        return rows[:limit]

    def key_uses(self, *, vouchers: bool = False) -> dict[str, int]:
        uses = Counter(self._rows.key_uses(vouchers=vouchers))
        uses.update(
            named_key(version.sealed or b"") for _, _, version in self._versions()
        )
        if vouchers:
            uses.update(self._code_uses())
        return dict(uses)

    def needs_key(self) -> bool:
        # Every webhook has a sealed key, for the bodies of its deliveries.
        return self._rows.needs_key() or bool(self._states.read(StateKind.WEBHOOK))

    def _versions(self) -> Iterator[tuple[str, SharedState, SecretVersion]]:
        """Yield every secret with the name and the state of its webhook."""
        for name, state in self._states.read(StateKind.WEBHOOK).items():
            if is_odd(state.value):
                continue
            endpoint = str(state.value["endpoint"])
            for field, secret in sealed_secrets(state.value).items():
                place = secret_place(endpoint, field, secret.version)
                yield name, state, SecretVersion(place, sealed=secret.sealed)

    def _put(
        self, name: str, state: SharedState, before: SecretVersion, after: SecretVersion
    ) -> bool:
        field = before.place.field
        secret = sealed_secrets(state.value)[field]
        changed = replace(secret, sealed=after.sealed or b"").facts()
        secrets = {**state.value["secrets"], field: changed}
        value = {**state.value, "secrets": secrets}
        states = self._states if state.error is None else self._unvouched
        return states.swap(StateKind.WEBHOOK, name, state.generation, value)
