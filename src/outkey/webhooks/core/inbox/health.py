"""The state that a webhook is in, and what it means for a user."""

from dataclasses import dataclass
from enum import StrEnum

from outkey.foundation.core.text import Text


class HookState(StrEnum):
    """The state of a webhook: the first thing that a user has to know."""

    PAUSED = "paused"
    NOT_READY = "not_ready"
    REFUSING = "refusing"
    SILENT = "silent"
    FAILING = "failing"
    NEW = "new"
    RECEIVING = "receiving"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFacts:
    """The facts that the state of a webhook depends on."""

    is_paused: bool = False
    has_error: bool = False  # a finding says that no delivery can be accepted
    last_at: float | None = None  # when the last delivery was accepted
    refused_at: float | None = None  # when the last one was refused
    is_silent: bool = False  # nothing came for much longer than usual
    failed: int = 0  # deliveries that could not be processed
    waiting: int = 0


LABELS: dict[HookState, Text] = {
    HookState.PAUSED: Text("paused"),
    HookState.NOT_READY: Text("not ready"),
    HookState.REFUSING: Text("refusing"),
    HookState.SILENT: Text("silent"),
    HookState.FAILING: Text("some failed"),
    HookState.NEW: Text("no delivery yet"),
    HookState.RECEIVING: Text("receiving"),
}
SENTENCES: dict[HookState, Text] = {
    HookState.PAUSED: Text(
        "Deliveries are not accepted. Senders are asked to repeat them later."
    ),
    HookState.NOT_READY: Text("No delivery is accepted until this is done."),
    HookState.REFUSING: Text(
        "The newest delivery was refused: nothing of it is stored. The reasons are"
        " below."
    ),
    HookState.SILENT: Text(
        "Nothing was sent for much longer than usual. Look at the sender first."
    ),
    HookState.FAILING: Text(
        "Deliveries are accepted, but some could not be processed. They wait in the"
        " inbox until you replay them."
    ),
    HookState.NEW: Text(
        "The webhook is ready. Enter its URL at the sender, or send a test delivery."
    ),
    HookState.RECEIVING: Text("Deliveries are accepted and processed."),
}


def hook_state(facts: HookFacts) -> HookState:
    """Return the state of a webhook: the first that applies."""
    if facts.is_paused:
        return HookState.PAUSED
    if facts.has_error:
        return HookState.NOT_READY
    if facts.refused_at is not None and facts.refused_at > (facts.last_at or 0.0):
        return HookState.REFUSING
    if facts.is_silent:
        return HookState.SILENT
    if facts.failed:
        return HookState.FAILING
    return HookState.NEW if facts.last_at is None else HookState.RECEIVING
