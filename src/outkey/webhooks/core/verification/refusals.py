"""The texts of refused deliveries. None repeats a secret, a signature or a body."""

from collections.abc import Mapping

from outkey.foundation.core.moments import elapsed_text
from outkey.foundation.core.text import NO_TEXT, Text, as_text
from outkey.webhooks.core.inbox.delivery import (
    CLOCK_REASONS,
    NotVerified,
    RefusalReason,
    Refused,
)
from outkey.webhooks.core.verification.timestamps import whole_hours

# Not found by verifying: the secret cannot be read here.
SECRET_UNRESOLVED = "secret_unresolved"  # noqa: S105 - the name of a reason
TOO_MANY = "too_many"  # without a signature, within a minute
CHECK_SCHEME = Text("Check which scheme the sender uses.")
MALFORMED = Text(
    "The sender may use another scheme, or a proxy has changed the header."
)
NO_SIGNATURE = Text(
    "Enter the secret at the sender as well, or check whether the sender uses this"
    " scheme."
)
HEADER_TWICE = Text("Check whether a proxy adds this header.")
COVER_MORE = Text("Have the sender sign these components as well.")
CHOOSE_SCHEME = Text("Choose the scheme of the sender.")
COMPARE_CLOCKS = Text(
    "Compare the clocks of both machines. A delivery that was sent again, or"
    " delayed by a queue, is refused too."
)
TEXTS: dict[str, tuple[Text, Text]] = {
    RefusalReason.NO_SECRET: (
        Text("the webhook has no secret"),
        Text("Set the secret that the sender shows: outkey webhook secret NAME."),
    ),
    RefusalReason.SECRET_OF_OTHER_SCHEME: (
        Text("the secret was entered for another scheme"),
        Text("Enter the secret again if it is meant for this scheme."),
    ),
    RefusalReason.SECRET_UNUSABLE: (
        Text("the secret does not have the form that the scheme needs"),
        Text("Copy the whole secret again from the sender, with its prefix."),
    ),
    RefusalReason.REASON_MISSING: (
        Text("the webhook is not verified, and no reason is stated"),
        Text("Enter a reason, or choose the scheme of the sender."),
    ),
    RefusalReason.UNKNOWN_SCHEME: (
        Text("the scheme of the webhook is unknown"),
        Text("Choose a scheme of the list, or hmac for a custom one."),
    ),
    RefusalReason.URL_UNKNOWN: (
        Text("the scheme signs the URL, and the public URL of outkey is not set"),
        Text("Set OUTKEY_PUBLIC_URL to the URL that the sender was given."),
    ),
    RefusalReason.URL_MALFORMED: (
        Text("the URL of the delivery cannot be read"),
        Text("Check OUTKEY_PUBLIC_URL, and the URL that the sender was given."),
    ),
    RefusalReason.SIGNATURE_MALFORMED: (
        Text("the signature cannot be read"),
        MALFORMED,
    ),
    RefusalReason.WRONG_SIGNATURE: (
        Text("the signature matches neither the secret nor the previous secret"),
        Text("Copy the secret again from the sender's settings of this webhook."),
    ),
    RefusalReason.TIMESTAMP_MISSING: (
        Text("the delivery does not state when it was sent"),
        CHECK_SCHEME,
    ),
    RefusalReason.TIMESTAMP_MALFORMED: (
        Text("the time of the delivery cannot be read"),
        CHECK_SCHEME,
    ),
    RefusalReason.BODY_UNREADABLE: (
        Text("the body is not what the scheme signs"),
        CHECK_SCHEME,
    ),
    RefusalReason.BODY_DIGEST: (
        Text("the body has another digest than the delivery states"),
        Text("A proxy may have changed the body: have it pass the bytes unchanged."),
    ),
    RefusalReason.WRONG_TOPIC: (
        Text("the delivery is of another topic"),
        Text("Enter the ARN of the topic as the AWS console shows it."),
    ),
    RefusalReason.KEY_URL: (
        Text("the delivery names a certificate at a URL that is not the sender's"),
        Text("This may be an attempt to forge a delivery."),
    ),
    RefusalReason.CERTIFICATE: (
        Text("the sender's certificate is not valid"),
        Text("Check the clock of this machine, and retry later."),
    ),
}


# The other reasons as they are counted: without the header, the time or the component
# that only one delivery has.
COUNTED: dict[str, tuple[Text, Text]] = {
    RefusalReason.SIGNATURE_MISSING: (
        Text("the delivery has no signature"),
        NO_SIGNATURE,
    ),
    RefusalReason.HEADER_REPEATED: (
        Text("the delivery has a header twice"),
        HEADER_TWICE,
    ),
    RefusalReason.HEADER_MISSING: (Text("a header is missing"), CHECK_SCHEME),
    RefusalReason.HEADER_MALFORMED: (Text("a header cannot be read"), MALFORMED),
    RefusalReason.NOT_COVERED: (
        Text("the signature does not cover all that it has to"),
        COVER_MORE,
    ),
    RefusalReason.TOO_OLD: (
        Text("the delivery was sent too long ago"),
        COMPARE_CLOCKS,
    ),
    RefusalReason.TOO_FAR_AHEAD: (
        Text("the delivery was sent in the future"),
        COMPARE_CLOCKS,
    ),
    SECRET_UNRESOLVED: (
        Text("the reference of the secret names nothing"),
        Text("Set the environment variable or the file that the webhook names."),
    ),
    TOO_MANY: (
        Text("more deliveries came within a minute than are accepted unsigned"),
        Text(
            "The sender retries them. Choose a scheme with a signature if the sender"
            " has one: an attacker may know the endpoint."
        ),
    ),
}


# Only an explanation has these reasons.
EXPLAINED: dict[str, tuple[Text, Text]] = {
    RefusalReason.PREVIOUS_SECRET: (
        Text("the delivery is signed with a secret that was replaced or removed here"),
        Text(
            "Enter the new secret at the sender. To accept the old one until then, set"
            " it with outkey webhook secret --previous."
        ),
    ),
    RefusalReason.SECRET_FORM: (
        Text("the secret is right, but was entered in another form"),
        Text(
            "Copy it again exactly as the sender shows it: with its prefix, without"
            " spaces around it, and not decoded. Check the scheme as well."
        ),
    ),
    RefusalReason.OTHER_SCHEME: (
        Text("the deliveries look like those of another sender"),
        CHOOSE_SCHEME,
    ),
    RefusalReason.BODY_CHANGED: (
        Text("the body was changed on the way: it was signed in another form"),
        Text(
            "A proxy or gateway writes the body anew. Have it pass the bytes"
            " unchanged, or let the sender reach outkey directly."
        ),
    ),
    RefusalReason.URL_CHANGED: (
        Text("the sender signed another spelling of the URL"),
        Text(
            "Set OUTKEY_PUBLIC_URL to the base of the URL that the sender was given,"
            " with its scheme and port, or correct it at the sender."
        ),
    ),
}
ALL_TEXTS: dict[str, tuple[Text, Text]] = {**TEXTS, **COUNTED, **EXPLAINED}


def refusal_texts(reason: str) -> tuple[Text, Text]:
    """Return text and hint of a reason for which deliveries were refused.

    Nothing in them is of a single delivery.
    """
    return ALL_TEXTS.get(reason, (as_text(reason.replace("_", " ")), NO_TEXT))


def refusal(problem: NotVerified) -> Refused:
    """Return the refusal of a delivery with its text."""
    if problem.reason in CLOCK_REASONS:
        return _clock_refusal(problem.reason, problem.values)
    text, hint = TEXTS.get(problem.reason) or _named_texts(problem)
    return Refused(problem.reason, text, hint)


def _named_texts(problem: NotVerified) -> tuple[Text, Text]:
    """Return text and hint of a refusal that names a header or a component."""
    name = problem.values.get("header", "")
    match problem.reason:
        case RefusalReason.SIGNATURE_MISSING:
            text = Text("the delivery has no signature: {name}", name=name)
            return text, NO_SIGNATURE
        case RefusalReason.HEADER_REPEATED:
            text = Text("the delivery has the header {name} twice", name=name)
            return text, HEADER_TWICE
        case RefusalReason.HEADER_MISSING:
            return Text("the header {name} is missing", name=name), CHECK_SCHEME
        case RefusalReason.NOT_COVERED:
            components = problem.values["components"]
            text = Text(
                "the signature does not cover {components}", components=components
            )
            return text, COVER_MORE
    return Text("the header {name} cannot be read", name=name), MALFORMED


def _clock_refusal(reason: RefusalReason, values: Mapping[str, str | float]) -> Refused:
    """Return the refusal of a delivery whose time is too far from ours."""
    seconds = float(values["seconds"])
    difference = elapsed_text(seconds)
    limit = elapsed_text(float(values["limit"]))
    text = Text(
        "the delivery was sent {difference} ago; the limit is {limit}",
        difference=difference,
        limit=limit,
    )
    if reason is RefusalReason.TOO_FAR_AHEAD:
        text = Text(
            "the delivery was sent {difference} in the future; the limit is {limit}",
            difference=difference,
            limit=limit,
        )
    hint = COMPARE_CLOCKS
    hours = whole_hours(seconds)
    if hours:
        hint = Text(
            "The difference is a whole number of hours ({hours}): the sender or this"
            " machine has the wrong time zone.",
            hours=hours,
        )
    return Refused(reason, text, hint)
