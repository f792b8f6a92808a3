"""Sample deliveries with a mistake, as wrong senders, proxies and attackers send them.

They are signed as every sample is, and sent to this machine only.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from outkey.foundation.core.errors import ConnectionFailed
from outkey.foundation.core.secret import Secret
from outkey.hosts.sample_delivery import post_sample
from outkey.webhooks.adapters.public_keys import CryptographyKeys
from outkey.webhooks.core.inbox.delivery import Delivery
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.verification.sample_receivers import (
    is_this_machine,
    server_of,
)
from outkey.webhooks.core.verification.signing import sign

SECRET = "whsec_dGhlIHNwYXJyaW5nIHdlYmhvb2sgc2VjcmV0"  # noqa: S105 - made up and public
_OTHER_SECRET = "whsec_YW5vdGhlciB3ZWJob29rIHNlY3JldCwgc2ly"  # noqa: S105 - made up
_OVERSIZED = 1024 * 1024 + 1
_EIGHT_HOURS = 8 * 3600
# The headers of each scheme that are not signed.
SCHEMES: dict[str, tuple[tuple[str, str], ...]] = {
    "standard": (),
    "stripe": (),
    "slack": (),
    "github": (("X-GitHub-Event", "order"),),
    "shopify": (("X-Shopify-Topic", "orders/create"),),
    "token": (),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """A body for an endpoint, and how it is signed."""

    url: str
    body: bytes
    scheme: str
    secret: Secret
    event_id: str
    now: float

    def sign(self) -> Delivery:
        """Return the delivery without a mistake; its last header is the signature."""
        headers = (("Content-Type", "application/json"), *SCHEMES[self.scheme])
        return sign(
            Delivery(method="POST", url=self.url, headers=headers, body=self.body),
            Webhook("sample", self.scheme),
            self.secret,
            now=self.now,
            event_id=self.event_id,
            keys=CryptographyKeys(),
        )


def sample_order(
    url: str, scheme: str, secret: Secret, *, event_id: str, now: float
) -> Sample:
    """Return a sample with an order; its id is that of the event."""
    order = {"id": event_id, "total": "1", "at": "2026-01-01"}
    body = json.dumps(order).encode()
    return Sample(url, body, scheme, secret, event_id, now)


def is_on_this_machine(url: str) -> bool:
    """Whether a URL is http on this machine: mistakes are sent nowhere else."""
    server = server_of(url)
    return (
        server is not None and server.scheme == "http" and is_this_machine(server.host)
    )


def post(delivery: Delivery) -> int:
    """Post a delivery; return the status of the response, 0 for none."""
    try:
        return post_sample(delivery)
    except ConnectionFailed:
        return 0


def _send_right(sample: Sample) -> list[Delivery]:
    """Sign it right."""
    return [sample.sign()]


def _use_wrong_secret(sample: Sample) -> list[Delivery]:
    """Sign it with another secret."""
    return [replace(sample, secret=Secret(_OTHER_SECRET)).sign()]


def _send_late(sample: Sample) -> list[Delivery]:
    """Sign a time that is eight hours ago, as a wrong time zone does."""
    return [replace(sample, now=sample.now - _EIGHT_HOURS).sign()]


def _send_early(sample: Sample) -> list[Delivery]:
    """Sign a time in the future."""
    return [replace(sample, now=sample.now + 3700).sign()]


def _reencode_body(sample: Sample) -> list[Delivery]:
    """Write the JSON anew after signing, as some proxies do."""
    order = json.loads(sample.body)
    compact = json.dumps(order, separators=(",", ":"))
    signed = replace(sample, body=compact.encode()).sign()
    return [replace(signed, body=json.dumps(order, indent=2).encode())]


def _change_body(sample: Sample) -> list[Delivery]:
    """Change a value of the body after signing."""
    changed = sample.body.replace(b'"1"', b'"9"') + b" "
    return [replace(sample.sign(), body=changed)]


def _send_twice(sample: Sample) -> list[Delivery]:
    """Send the same delivery twice, as a sender does that got no response."""
    return [sample.sign()] * 2


def _send_out_of_order(sample: Sample) -> list[Delivery]:
    """Send a newer version of a record before an older one."""
    newer = json.loads(sample.body) | {"total": "2", "at": "2026-02-02"}
    older = replace(sample, event_id=f"{sample.event_id}-older")
    return [replace(sample, body=json.dumps(newer).encode()).sign(), older.sign()]


def _replay_with_other_id(sample: Sample) -> list[Delivery]:
    """Send an earlier delivery again under another id, as an attacker does."""
    right = sample.sign()
    headers = tuple(
        (name, f"{value}-again" if value == sample.event_id else value)
        for name, value in right.headers
    )
    return [right, replace(right, headers=headers)]


def _use_other_scheme(sample: Sample) -> list[Delivery]:
    """Sign it as another sender would."""
    other = "shopify" if sample.scheme == "github" else "github"
    return [replace(sample, scheme=other).sign()]


def _omit_signature(sample: Sample) -> list[Delivery]:
    """Send it without the header of the signature."""
    right = sample.sign()
    return [replace(right, headers=right.headers[:-1])]


def _repeat_signature(sample: Sample) -> list[Delivery]:
    """Send the header of the signature twice."""
    right = sample.sign()
    return [replace(right, headers=(*right.headers, right.headers[-1]))]


def _send_too_much(sample: Sample) -> list[Delivery]:
    """Send a body of more than 1 MiB."""
    return [replace(sample, body=b"[" + b" " * _OVERSIZED + b"]").sign()]


def _send_body(body: bytes, text: str) -> Callable[[Sample], list[Delivery]]:
    """Return a mistake that is a body, signed right."""

    def send(sample: Sample) -> list[Delivery]:
        return [replace(sample, body=body).sign()]

    send.__doc__ = text
    return send


def _use_wrong_method(sample: Sample) -> list[Delivery]:
    """Send it as DELETE."""
    return [replace(sample.sign(), method="DELETE")]


MISTAKES: dict[str, Callable[[Sample], list[Delivery]]] = {
    "none": _send_right,
    "wrong-secret": _use_wrong_secret,
    "old-timestamp": _send_late,
    "future-timestamp": _send_early,
    "reencoded-body": _reencode_body,
    "changed-body": _change_body,
    "duplicate": _send_twice,
    "out-of-order": _send_out_of_order,
    "replay": _replay_with_other_id,
    "wrong-scheme": _use_other_scheme,
    "missing-header": _omit_signature,
    "repeated-header": _repeat_signature,
    "oversized": _send_too_much,
    "not-json": _send_body(b"<order/>", "Send XML instead of JSON."),
    "deep-json": _send_body(b"[" * 5000 + b"]" * 5000, "Nest JSON 5000 levels deep."),
    "nan": _send_body(b'{"id": NaN}', "Send NaN, which is not JSON."),
    "long-number": _send_body(
        b'{"id": ' + b"9" * 5000 + b"}", "Send a number of 5000 digits."
    ),
    "duplicate-keys": _send_body(
        b'{"id": 1, "id": 2}', "Send a key of an object twice."
    ),
    "wrong-method": _use_wrong_method,
}
