"""The operator's backends: which references use them, and whether they work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from outkey.foundation.core.errors import (
    BackendUnavailable,
    BackendUnknown,
    ConfigError,
    OutkeyError,
    SecretMissing,
)
from outkey.foundation.core.findings.checks import Finding, Level
from outkey.foundation.core.text import Text, counted
from outkey.sending.core.backends.store import ADVICE
from outkey.sending.core.backends.values import StoreKey
from outkey.sending.core.configuration.reference import (
    Reference,
    is_reference,
    parse_place,
    parse_reference,
)
from outkey.webhooks.core.settings.section import references_of

if TYPE_CHECKING:
    from outkey.foundation.ports.clock import Clock
    from outkey.sending.core.backends.settings import Backend
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.configuration.secret_state import SecretState
    from outkey.sending.engine.backends.stores import CachedStores
    from outkey.sync.core.databases.section import OtherDatabase
    from outkey.webhooks.core.settings.settings import Webhook

P_WIDE = "P-backend-wide"
DENIED = "backend-denied"


class ReferenceUse(NamedTuple):
    """A reference into a store, and what has it: such as `webhook shop`."""

    owner: str
    reference: Reference


@dataclass(frozen=True, slots=True)
class CheckStep:
    """One step of a check."""

    step: str
    ok: bool
    detail: Text
    ms: int


@dataclass(slots=True)
class BackendReport:
    """The result of a check: its steps, and what is wrong."""

    backend: str
    steps: list[CheckStep] = field(default_factory=list)
    error: OutkeyError | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether all steps succeeded."""
        return self.error is None


@dataclass(frozen=True, slots=True)
class SecretBackends:
    """The backends of an installation, with the references that use them."""

    stores: CachedStores
    clock: Clock
    uses: Sequence[ReferenceUse]

    def facts(self) -> list[dict[str, object]]:
        """Return the backends as programs read them."""
        keys = list(self._keys())
        return [
            {
                "name": backend.name,
                "store": str(backend.store),
                "address": backend.shown_address,
                "login": backend.login,
                "references": sum(key.backend is backend for key in keys),
            }
            for backend in self.stores.backends().by_name.values()
        ]

    def file_problem(self) -> Text | None:
        """Return why the operator's file cannot be used; None if it can."""
        try:
            self.stores.backends()
        except ConfigError as error:
            return error.message
        return None

    def without_backend(self) -> tuple[str, ...]:
        """Return what has a reference that no backend is for."""
        owners = [use.owner for use in self.uses if self._is_unknown(use.reference)]
        return tuple(dict.fromkeys(owners))

    def plain(self) -> tuple[str, ...]:
        """Return the backends that are reached without TLS."""
        return tuple(
            backend.name
            for backend in self.stores.backends().by_name.values()
            if backend.address and backend.address.origin.scheme == "http"
        )

    def _is_unknown(self, reference: Reference) -> bool:
        try:
            self.stores.resolve(reference)
        except BackendUnknown:
            return True
        except OutkeyError:
            return False  # the path is not allowed: sending reports that
        return False

    def check(self, name: str) -> BackendReport:
        """Connect, log in, and read each path in use; the values are dropped."""
        backend = self.stores.backends().named(name)
        report = BackendReport(name)
        started = self.clock.monotonic()
        try:
            for step, detail in self._steps(backend, report):
                now = self.clock.monotonic()
                ms = round((now - started) * 1000)
                report.steps.append(CheckStep(step, ok=True, detail=detail, ms=ms))
                started = now
        except OutkeyError as error:
            report.error = _with_advice(error)
            ms = round((self.clock.monotonic() - started) * 1000)
            step = _STEPS[len(report.steps)]
            report.steps.append(CheckStep(step, ok=False, detail=error.message, ms=ms))
        return report

    def _steps(
        self, backend: Backend, report: BackendReport
    ) -> Iterator[tuple[str, Text]]:
        peer = self.stores.connect(backend)
        reached = Text("{address}", address=peer.address) if peer else Text("skipped")
        yield "connect", reached
        session = self.stores.log_in_anew(backend)
        yield "login", Text("{method}", method=backend.login)
        keys = {key for key in self._keys() if key.backend is backend}
        for key in sorted(keys, key=lambda key: (key.path, key.version)):
            self.stores.read_with(key, session)
        yield (
            "read",
            counted(len(keys), Text("1 path"), Text("{count} paths", count=len(keys))),
        )
        if not backend.probe:
            return
        probe = StoreKey(backend, _store_of(backend), _path_of(backend), "")
        try:
            self.stores.read_with(probe, session)
        except SecretMissing as error:
            if error.reason == DENIED:
                yield "probe", Text("refused, as it should be")
                return
        report.findings.append(wide_finding())
        yield "probe", Text("not refused")

    def _keys(self) -> Iterator[StoreKey]:
        """Yield what each reference reads; `doctor` names those without a backend."""
        for use in self.uses:
            try:
                yield self.stores.resolve(use.reference)
            except OutkeyError:
                continue


def external_uses(
    configurations: Iterable[Configuration],
    webhooks: Iterable[Webhook],
    databases: Iterable[OtherDatabase],
) -> Iterator[ReferenceUse]:
    """Yield the references into external stores, and what has each."""
    uses = [
        ReferenceUse(configuration.name, state.reference)
        for configuration in configurations
        for secrets in _secrets_of_sets(configuration)
        for state in secrets.values()
        if state.reference is not None
    ]
    uses += [
        ReferenceUse(f"webhook {webhook.name}", reference)
        for webhook in webhooks
        for reference in references_of(webhook).values()
    ]
    uses += [
        ReferenceUse(f"database {database.name}", parse_reference(url, field="url"))
        for database in databases
        if is_reference(url := database.url)
    ]
    return (use for use in uses if use.reference.is_external)


def _secrets_of_sets(
    configuration: Configuration,
) -> Iterator[Mapping[str, SecretState]]:
    """Yield the secrets in use, and those of the next and the previous set."""
    yield configuration.secrets
    for credentials in (configuration.sets.next, configuration.sets.previous):
        if credentials is not None:
            yield credentials.secrets


def _with_advice(error: OutkeyError) -> OutkeyError:
    """Return an error of a check, whose hint does not name the check itself."""
    if not isinstance(error, BackendUnavailable):
        return error
    hint = ADVICE.get(error.reason, error.hint)
    return BackendUnavailable(error.message, hint=hint, reason=error.reason)


_STEPS = ("connect", "login", "read", "probe")
_STORES = {"aws": "aws-secret", "azure": "azure-secret", "gcp": "gcp-secret"}


def _store_of(backend: Backend) -> str:
    """Return the store of references into a backend."""
    return _STORES.get(str(backend.store), str(backend.store))


def _path_of(backend: Backend) -> tuple[str, ...]:
    reference = parse_reference(
        f"{_store_of(backend)}:{backend.probe}#probe", field="probe"
    )
    return parse_place(reference, field="probe").segments


def wide_finding() -> Finding:
    """Return the warning of a backend that may read more than it should."""
    return Finding(
        P_WIDE,
        Level.WARNING,
        Text("outkey's log-in can read a path that it should not"),
        Text("Let the policy of the store name the paths of outkey alone."),
        "probe",
    )
