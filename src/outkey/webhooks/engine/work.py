"""What a handler of webhooks gets."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """The event that a function of the host receives."""

    webhook: str
    event_id: str
    event_type: str
    body: bytes
    # The JSON of the body, None if it is not JSON. With `confirm` it is what was
    # fetched: an object, or a list if the delivery names several.
    payload: object
    fetch_id: str = ""


Handler = Callable[[ReceivedEvent], object]
