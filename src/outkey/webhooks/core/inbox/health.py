"""The state that a webhook is in, and what it means for a user."""

from dataclasses import dataclass
from enum import StrEnum

from outkey.foundation.core.text import Text


class WebhookState(StrEnum):
    """The state of a webhook: the first thing that a user has to know."""

    PAUSED = "paused"
    NOT_READY = "not_ready"
    REFUSING = "refusing"
    SILENT = "silent"
    FAILING = "failing"
    NEW = "new"
    RECEIVING = "receiving"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookFacts:
    """The facts that the state of a webhook depends on."""

    is_paused: bool = False
    has_error: bool = False  # a finding says that no delivery can be accepted
    last_at: float | None = None  # when the last delivery was accepted
    refused_at: float | None = None  # when the last one was refused
    is_silent: bool = False  # nothing came for much longer than usual
    failed: int = 0  # deliveries that could not be processed
    waiting: int = 0


LABELS: dict[WebhookState, Text] = {
    WebhookState.PAUSED: Text("paused"),
    WebhookState.NOT_READY: Text("not ready"),
    WebhookState.REFUSING: Text("refusing"),
    WebhookState.SILENT: Text("silent"),
    WebhookState.FAILING: Text("some failed"),
    WebhookState.NEW: Text("no delivery yet"),
    WebhookState.RECEIVING: Text("receiving"),
}
SENTENCES: dict[WebhookState, Text] = {
    WebhookState.PAUSED: Text(
        "Deliveries are not accepted. Senders are asked to repeat them later."
    ),
    WebhookState.NOT_READY: Text("No delivery is accepted until this is done."),
    WebhookState.REFUSING: Text(
        "The newest delivery was refused: nothing of it is stored. The reasons are"
        " below."
    ),
    WebhookState.SILENT: Text(
        "Nothing was sent for much longer than usual. Look at the sender first."
    ),
    WebhookState.FAILING: Text(
        "Deliveries are accepted, but some could not be processed. They wait in the"
        " inbox until you replay them."
    ),
    WebhookState.NEW: Text(
        "The webhook is ready. Enter its URL at the sender, or send a test delivery."
    ),
    WebhookState.RECEIVING: Text("Deliveries are accepted and processed."),
}


def hook_state(facts: WebhookFacts) -> WebhookState:
    """Return the state of a webhook: the first that applies."""
    if facts.is_paused:
        return WebhookState.PAUSED
    if facts.has_error:
        return WebhookState.NOT_READY
    if facts.refused_at is not None and facts.refused_at > (facts.last_at or 0.0):
        return WebhookState.REFUSING
    if facts.is_silent:
        return WebhookState.SILENT
    if facts.failed:
        return WebhookState.FAILING
    return WebhookState.NEW if facts.last_at is None else WebhookState.RECEIVING
