"""What a limited user or token sees of an installation: an Application of its own.

Its registry, runs, shared states, audit and webhooks have what is within the reach and
nothing else. So pages and the HTTP interface, which get everything from an Application,
need no rule of their own, and what is added to them is limited as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from outkey.administration.engine.access.limited_audit import LimitedAudit
from outkey.administration.engine.access.limited_states import LimitedStates
from outkey.administration.engine.access.own_targets import (
    OwnTargets,
    refuse_targets,
)
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

if TYPE_CHECKING:
    from outkey.administration.core.findings.monitoring import LineRun
    from outkey.administration.engine.application import Application
    from outkey.administration.ports.installation import LineRuns
    from outkey.foundation.ports.database import StateRows
    from outkey.sending.core.configuration.owners import Reach
    from outkey.sync.engine.line_registry import Registry
    from outkey.sync.engine.runs.line_plan import SyncPorts
    from outkey.webhooks.engine.reception import ReceptionPorts


def limited(
    whole: Application, reach: Reach, *, allow_targets: bool = False
) -> Application:
    """Return an application within a reach; the same one without a limit.

    With `allow_targets`, lines may use other targets than tables of outkey.
    """
    if not reach.is_limited:
        return whole
    registry = whole.registry.limited_to(reach)
    states = LimitedStates(whole.states, registry, whole.registry)
    application = replace(
        whole,
        registry=registry,
        states=states,
        runs=whole.runs.limited_to(registry, states),
        line_runs=LimitedLineRuns(whole.line_runs, registry),
        audit_trail=replace(
            whole.audit_trail,
            rows=LimitedAudit(
                whole.audit_trail.rows,
                lambda: [summary.name for summary in registry.summaries()],
            ),
        ),
        hook_ports=_limited_hooks(whole.hook_ports, states),
        reach=reach,
        unlimited=whole,
    )
    own = OwnTargets(application, allow_targets=allow_targets)
    refuse = partial(refuse_targets, application, allow_targets=allow_targets)
    return replace(
        application,
        refuse_line=lambda line: refuse(line.sync),
        refuse_used=partial(refuse_used, whole, application),
        sync_ports=lambda: _limited_ports(whole.sync_ports(), application, own),
    )


def _limited_ports(
    ports: SyncPorts, application: Application, own: OwnTargets
) -> SyncPorts:
    """Return the ports of lines with the lines, runs, pairs and targets of a reach."""
    pairing = ports.pairing
    if pairing is not None:
        pairing = replace(pairing, pairs=application.sync_settings.pairs)
    return replace(
        ports,
        configurations=application.registry,
        runs=application.runs,
        refuse_target=own.refuse,
        pairing=pairing,
    )


def refuse_used(
    whole: Application, application: Application, name: str, lines: Collection[str]
) -> None:
    """Raise ConfigError if something outside the reach uses a configuration or lines.

    It would not follow a rename, and could not prevent a removal.
    """
    if _users_of(whole, name, lines) != _users_of(application, name, lines):
        raise ConfigError(
            Text("something of another owner uses it"),
            hint=Text("Ask an administrator who is not limited to owners."),
        )


def _users_of(application: Application, name: str, lines: Collection[str]) -> set[str]:
    """Return the webhooks, pairs and lines that name a configuration or lines."""
    naming = application.webhooks.naming()
    webhooks = naming.dependent_webhooks(name, lines) if naming else ()
    children = [
        line.name
        for line in application.registry.lines()
        if line.sync is not None and line.sync.for_each.line in lines
    ]
    pairs = application.sync_settings.pairs_of(lines)
    return {
        f"{kind}:{each}"
        for kind, found in (("w", webhooks), ("p", pairs), ("l", children))
        for each in found
    }


class LimitedLineRuns:
    """The last runs of the lines of a limited registry."""

    def __init__(self, runs: LineRuns, registry: Registry) -> None:
        self._runs = runs
        self._registry = registry

    def latest(self) -> list[LineRun]:
        names = {line.name for line in self._registry.timetable()}
        return [latest for latest in self._runs.latest() if latest.run.line in names]


def _limited_hooks(
    open_ports: Callable[[], ReceptionPorts] | None, states: StateRows
) -> Callable[[], ReceptionPorts] | None:
    """Return the ports of webhooks with the webhooks of limited states."""
    if open_ports is None:
        return None

    def open_limited() -> ReceptionPorts:
        ports = open_ports()
        return replace(
            ports,
            settings=ports.settings.with_states(states),
            refusals=ports.refusals.with_states(states),
        )

    return open_limited
