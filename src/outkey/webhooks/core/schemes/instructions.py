"""Instructions for users: the steps at the sender of a webhook."""

from collections.abc import Iterator

from outkey.foundation.core.text import Text
from outkey.webhooks.core.schemes.scheme import (
    HandshakeKind,
    KeyForm,
    VerificationKind,
    WebhookScheme,
)
from outkey.webhooks.core.schemes.schemes import CUSTOM

# Schemes that many senders use: their labels are not the name of a sender.
SHARED = (*CUSTOM, "standard", "rfc9421")
PUBLIC_KEYS = frozenset(
    {KeyForm.PUBLIC_STANDARD, KeyForm.PUBLIC_HEX, KeyForm.PUBLIC_DER}
)
SECRET_STEPS: dict[VerificationKind, Text] = {
    VerificationKind.BASIC: Text(
        "Enter the user name and a long random password there. The password is the"
        " secret here."
    ),
    VerificationKind.SNS: Text(
        "Subscribe the URL to the topic with the protocol HTTPS. There is no secret:"
        " Amazon signs deliveries with a certificate."
    ),
    VerificationKind.PAYPAL: Text(
        "PayPal then shows a webhook ID: enter it here. There is no secret: PayPal"
        " signs deliveries with a certificate."
    ),
    VerificationKind.FETCH: Text(
        "There is no secret: a delivery is not signed, so that it only starts a run,"
        " which reads from the API itself."
    ),
    VerificationKind.UNVERIFIED: Text(
        "There is no secret: anybody who knows the URL can send deliveries. Give it to"
        " nobody else."
    ),
}


def sender_steps(scheme: WebhookScheme) -> Iterator[Text]:
    """Yield the steps at the sender, in order; the URL is shown above."""
    sender = Text("{name}", name=scheme.label)
    if scheme.name in SHARED:
        sender = Text("the sender")
    yield Text(
        "Open the settings of webhooks at {sender}, and enter the URL. Choose JSON if"
        " it asks for a format.",
        sender=sender,
    )
    yield SECRET_STEPS.get(scheme.kind) or _signature_step(scheme)
    if scheme.handshake is HandshakeKind.META:
        yield Text("Enter the verify token there as well: the same as here.")
    elif scheme.handshake is not None:
        yield Text("It checks the URL once. outkey responds to that by itself.")
    yield Text("Have it send a test delivery. It is in the inbox within seconds.")


def _signature_step(scheme: WebhookScheme) -> Text:
    """Return the step about the secret that deliveries are signed with."""
    if scheme.kind is VerificationKind.TOKEN:
        return Text(
            "Have it send a long random text in the header {header}, and enter the same"
            " text here as the secret.",
            header=scheme.signature_headers[0],
        )
    if scheme.key in PUBLIC_KEYS:
        return Text("Copy the public key there, and enter it here as the secret.")
    if scheme.name == "hmac":
        return Text("Enter the same long random secret there and here.")
    return Text("Copy the secret that is shown there, and enter it here.")
