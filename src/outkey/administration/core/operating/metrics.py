"""Metrics for operators: counts since the beginning, and the present state."""

from collections.abc import Mapping
from dataclasses import dataclass

from outkey.administration.core.operating.send_counts import SendCounts
from outkey.sending.core.rotation.credential_sets import RotationState, Tally
from outkey.sync.core.run.counts import RunCounts


@dataclass(frozen=True, slots=True)
class RotationMetrics:
    """How far a rotation has got, and the results of its trial or of the last one."""

    state: RotationState
    tally: Tally


@dataclass(frozen=True, slots=True)
class Metrics:
    """The measurements of an installation, for all processes that share its database.

    `sends` and `runs` are by configuration and line, `deliveries` by webhook and state,
    as they are stored now, and `refused_deliveries` by webhook and reason. `rotations`
    are of the configurations that ever had next credentials.
    """

    sends: Mapping[str, SendCounts]
    rotations: Mapping[str, RotationMetrics]
    runs: Mapping[str, RunCounts]
    deliveries: Mapping[str, Mapping[str, int]]
    refused_deliveries: Mapping[str, Mapping[str, int]]
    waiting_runs: int  # that are due
    running_runs: int
    workers: int
    open_notices: int
    is_sealed: bool
