"""What a project does with deliveries: a function, and a signal with a receiver."""

import json
import os
from pathlib import Path

from django.dispatch import Signal, receiver

from outkey.webhooks.engine.work import ReceivedEvent

pushed = Signal()


def note(event: ReceivedEvent) -> None:
    """Add a delivery to a file; fail as long as there is no such file."""
    facts = {
        "webhook": event.webhook,
        "event_id": event.event_id,
        "payload": event.payload,
        "body": event.body.decode(),
    }
    with Path(os.environ["RECEIVED"]).open("r+", encoding="utf-8") as file:
        file.seek(0, os.SEEK_END)
        file.write(json.dumps(facts) + "\n")


@receiver(pushed)
def note_signal(sender: str, event: ReceivedEvent, **_: object) -> None:
    assert sender == event.webhook
    note(event)
