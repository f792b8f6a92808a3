"""Results of a delivery, in words for users."""

from outkey.foundation.core.errors import LineBusy, LinePaused
from outkey.foundation.core.text import NO_TEXT, Text
from outkey.sync.core.run.remedies import cause_text, remedy_of
from outkey.webhooks.core.inbox.inbox import DeliveryState

# Why a delivery is in its state, where no error explains it.
NO_RECORDS = "no_records"
NOT_FOUND = "not_found"
OUT_OF_ORDER = "out_of_order"
HANDLER_FAILED = "handler_failed"
LINE_RENAMED = "line_renamed"
STATES: dict[DeliveryState, Text] = {
    DeliveryState.RECEIVED: Text("waiting"),
    DeliveryState.PROCESSED: Text("processed"),
    DeliveryState.FAILED: Text("failed"),
    DeliveryState.IGNORED: Text("ignored"),
}
# Each with what helps.
REASONS: dict[str, tuple[Text, Text]] = {
    NO_RECORDS: (
        Text("the body has no records where the webhook looks for them"),
        Text("If it has some, correct Records on the page of the webhook."),
    ),
    OUT_OF_ORDER: (
        Text("its records are older than those that are stored"),
        NO_TEXT,
    ),
    NOT_FOUND: (
        Text("the API has no such object any more"),
        NO_TEXT,
    ),
    LINE_RENAMED: (
        Text("waits, because the sync line was renamed meanwhile"),
        NO_TEXT,
    ),
    HANDLER_FAILED: (
        Text("the handler raised an error"),
        Text("Correct the function, then replay the delivery."),
    ),
    LineBusy.code: (
        Text("waits until the run of the sync line has ended"),
        NO_TEXT,
    ),
    LinePaused.code: (
        Text("waits while the sync line is paused"),
        Text("Resume the sync line."),
    ),
    "not_json": (
        Text("the body is not JSON"),
        Text("Have the sender send JSON."),
    ),
}


def delivery_reason(reason: str) -> Text:
    """Return why a delivery is in its state; empty without a reason."""
    if not reason:
        return NO_TEXT
    return REASONS[reason][0] if reason in REASONS else cause_text(reason)


def delivery_remedy(reason: str) -> Text:
    """Return the remedy; empty if none is known."""
    return REASONS[reason][1] if reason in REASONS else remedy_of(reason)
