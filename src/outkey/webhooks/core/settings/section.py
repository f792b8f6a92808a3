"""The sections `[webhook.NAME]` of a document."""

import difflib
import re
from collections.abc import Iterator, Mapping
from functools import partial

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import Field, Kind, LineTab, read_table
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.reference import Reference, parse_reference
from outkey.sync.core.line.table import written_table
from outkey.webhooks.core.schemes.scheme import (
    PLACE,
    TOPIC,
    HandshakeKind,
    HmacHash,
    SignatureEncoding,
    VerificationKind,
    WebhookScheme,
)
from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.settings.confirmation import PLACE as PLACE_OF_ID
from outkey.webhooks.core.settings.confirmation import is_confirmation_path
from outkey.webhooks.core.settings.settings import Webhook

HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
HANDLER = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
MAX_TOLERANCE = 86_400
TARGETS = ("line", "run", "handler")
REFERENCES = ("secret", "previous_secret", "verify_token")
HEADERS = ("signature_header", "timestamp_header", "id_header", "token_header")
PLACES = ("{body}", "{timestamp}", "{id}", "{method}", "{url}")
EXAMPLE = "{timestamp}.{body}"  # of a signed text
HMAC_KEYS = (
    "signature_header",
    "signature_prefix",
    "algorithm",
    "encoding",
    "signed",
    "timestamp_header",
)

field = partial(Field, LineTab.REQUEST)
WEBHOOK_FIELDS: tuple[Field, ...] = (
    field(
        "webhook.configuration",
        "Configuration",
        Kind.LONG_TEXT,
        rare=True,
        help="Whose credentials are used where a delivery has to be fetched.",
    ),
    field(
        "webhook.scheme",
        "Scheme",
        Kind.LONG_TEXT,
        required=True,
        is_always_written=True,
        help=(
            "How the sender signs its deliveries: the name of the sender, standard, or"
            " hmac, token or basic with the settings below."
        ),
    ),
    field(
        "webhook.secret",
        "Secret",
        Kind.LONG_TEXT,
        help=(
            "A reference such as env:SHOP_HOOK_SECRET. Leave it out to enter the secret"
            " with outkey webhook secret."
        ),
    ),
    field(
        "webhook.previous_secret",
        "Previous secret",
        Kind.LONG_TEXT,
        is_nullable=True,
        help="Accepted as well until it is removed with an empty text.",
    ),
    field(
        "webhook.verify_token",
        "Verify token",
        Kind.LONG_TEXT,
        help="A reference to the token that Meta sends with its handshake.",
    ),
    field(
        "webhook.line",
        "Sync line",
        Kind.LONG_TEXT,
        help="The pull line whose mapping stores the records of a delivery.",
    ),
    field(
        "webhook.run",
        "Line to run",
        Kind.LONG_TEXT,
        help="The line that a delivery starts a run of.",
    ),
    field(
        "webhook.handler",
        "Handler",
        Kind.LONG_TEXT,
        help="A Python function that a delivery is given to, such as shop.hooks.order.",
    ),
    field(
        "webhook.records",
        "Records",
        Kind.LONG_TEXT,
        default="@",
        help="JMESPath of the records in the body of a delivery.",
    ),
    field(
        "webhook.confirm",
        "Path to fetch",
        Kind.LONG_TEXT,
        rare=True,
        help=(
            "The path of the object that a delivery names, with {id}: it is fetched"
            " with the credentials of the configuration, and used instead of the body."
        ),
    ),
    field(
        "webhook.confirm_id",
        "ID to fetch",
        Kind.LONG_TEXT,
        default="id",
        rare=True,
        help="JMESPath of the ID, or of a list of IDs, in the body of a delivery.",
    ),
    field(
        "webhook.tolerance_seconds",
        "Tolerance in seconds",
        Kind.INTEGER,
        minimum=1,
        maximum=MAX_TOLERANCE,
        rare=True,
        help="How far the time of a delivery may be from ours.",
    ),
    field(
        "webhook.reason",
        "Reason",
        Kind.LONG_TEXT,
        help="Why the deliveries are accepted without verification.",
    ),
    field(
        "webhook.topic",
        "Topic",
        Kind.LONG_TEXT,
        help="The ARN of the Amazon SNS topic; deliveries of others are refused.",
    ),
    field(
        "webhook.webhook_id",
        "Webhook ID",
        Kind.LONG_TEXT,
        help="The ID that PayPal shows for this webhook; it is part of the signature.",
    ),
    field(
        "webhook.signature_header",
        "Signature header",
        Kind.LONG_TEXT,
        help="The header with the signature.",
    ),
    field(
        "webhook.signature_prefix",
        "Signature prefix",
        Kind.LONG_TEXT,
        help="What stands before the signature, such as sha256=.",
    ),
    field(
        "webhook.algorithm",
        "Hash function",
        Kind.CHOICE,
        HmacHash,
        default=HmacHash.SHA256,
        help="The hash function of the HMAC.",
    ),
    field(
        "webhook.encoding",
        "Encoding",
        Kind.CHOICE,
        SignatureEncoding,
        default=SignatureEncoding.HEX,
        help="How the signature is written.",
    ),
    field(
        "webhook.signed",
        "Signed text",
        Kind.LONG_TEXT,
        default="{body}",
        help=(
            "What is signed: text, and body, timestamp, id, method or url in braces."
        ),
    ),
    field(
        "webhook.timestamp_header",
        "Timestamp header",
        Kind.LONG_TEXT,
        help="The header with the time of sending, as Unix time.",
    ),
    field(
        "webhook.id_header",
        "ID header",
        Kind.LONG_TEXT,
        rare=True,
        help="The header with the ID of the event, which is the same on retries.",
    ),
    field(
        "webhook.id",
        "ID",
        Kind.LONG_TEXT,
        rare=True,
        help="JMESPath of the ID of the event in the body.",
    ),
    field(
        "webhook.token_header",
        "Token header",
        Kind.LONG_TEXT,
        help="The header with the token; Authorization by default.",
    ),
    field(
        "webhook.username",
        "User name",
        Kind.LONG_TEXT,
        no_colon=True,
        help="The user name of Basic authentication; the secret is the password.",
    ),
)


def read_webhook(name: str, table: Mapping[str, object], place: str) -> Webhook:
    """Read the table of one webhook."""
    BY_PATH["name"].parse(name)
    webhook = Webhook(name, **read_table(WEBHOOK_FIELDS, table, place))  # type: ignore[arg-type]
    for error in webhook_errors(webhook, place):
        raise error
    return webhook


def webhook_table(webhook: Webhook) -> dict[str, object]:
    """Return the table that `read_webhook` reads."""
    return written_table(WEBHOOK_FIELDS, webhook)


def webhook_errors(webhook: Webhook, place: str = "") -> Iterator[ConfigError]:
    """Yield the errors in the settings of a webhook."""
    scheme = SCHEMES.get(webhook.scheme)
    if scheme is None:
        yield unknown_scheme(webhook.scheme, place)
        return
    yield from reference_errors(webhook, place)
    for key in HEADERS:
        header = getattr(webhook, key)
        if header and not HEADER_NAME.fullmatch(header):
            yield ConfigError(
                Text("this is not the name of a header"), field=f"{place}{key}"
            )
    yield from target_errors(webhook, place)
    yield from misplaced_errors(webhook, scheme, place)
    yield from missing_errors(webhook, scheme, place)
    yield from confirmation_errors(webhook, scheme, place)
    if webhook.scheme == "hmac":
        yield from template_errors(webhook, place)


def unknown_scheme(name: str, place: str) -> ConfigError:
    """Return the error for a scheme that is not in the table."""
    similar = difflib.get_close_matches(name, SCHEMES, n=1)
    hint = Text("Known here: {names}.", names=", ".join(SCHEMES))
    if similar:
        hint = Text("Did you mean {name}?", name=similar[0])
    return ConfigError(Text("unknown scheme"), field=f"{place}scheme", hint=hint)


def references_of(webhook: Webhook) -> dict[str, Reference]:
    """Return the references of a webhook's secrets by their keys."""
    texts = {key: getattr(webhook, key) for key in REFERENCES}
    return {
        key: parse_reference(text, field=f"webhook.{webhook.name}.{key}")
        for key, text in texts.items()
        if text
    }


def reference_errors(webhook: Webhook, place: str) -> Iterator[ConfigError]:
    """Yield secrets that are not references."""
    for key in REFERENCES:
        reference = getattr(webhook, key)
        try:
            if reference:
                parse_reference(reference, field=f"{place}{key}")
        except ConfigError as error:
            yield error


def target_errors(webhook: Webhook, place: str) -> Iterator[ConfigError]:
    """Yield an error unless exactly one thing is done with a delivery."""
    targets = [key for key in TARGETS if getattr(webhook, key)]
    if len(targets) != 1:
        yield ConfigError(
            Text("a webhook needs one of line, run and handler"),
            field=f"{place}{targets[1] if targets else 'line'}",
        )
    if webhook.handler and not HANDLER.fullmatch(webhook.handler):
        yield ConfigError(
            Text("a handler is a module and a function, such as shop.hooks.order"),
            field=f"{place}handler",
        )


def confirmation_errors(
    webhook: Webhook, scheme: WebhookScheme, place: str
) -> Iterator[ConfigError]:
    """Yield the errors in the settings for fetching the named object."""
    if not webhook.confirm:
        if webhook.line and scheme.kind is VerificationKind.FETCH:
            yield ConfigError(
                Text("deliveries of this scheme only name what has changed"),
                hint=Text(
                    "Enter the path to fetch it from, such as {example}, or let"
                    " deliveries start a run of the line: run instead of line.",
                    example='confirm = "/payments/{id}"',
                ),
                field=f"{place}confirm",
            )
        return
    if not is_confirmation_path(webhook.confirm):
        yield ConfigError(
            Text(
                "must be a path with {place} once, without a query", place=PLACE_OF_ID
            ),
            field=f"{place}confirm",
        )
    if webhook.run:
        yield ConfigError(
            Text("a run fetches its records itself"),
            hint=Text("Remove it."),
            field=f"{place}confirm",
        )
    if webhook.handler and not webhook.configuration:
        yield ConfigError(
            Text("a configuration is needed to fetch with"),
            field=f"{place}configuration",
        )


def scheme_keys(scheme: WebhookScheme) -> dict[str, bool]:
    """Return the settings that only some schemes use, and whether this one does."""
    kind = scheme.kind
    is_token = kind is VerificationKind.TOKEN
    return {
        **dict.fromkeys(HMAC_KEYS, scheme.name == "hmac"),
        "token_header": is_token and "Authorization" in scheme.signature_headers,
        "username": kind is VerificationKind.BASIC,
        "topic": kind is VerificationKind.SNS,
        "webhook_id": kind is VerificationKind.PAYPAL,
        "reason": kind is VerificationKind.UNVERIFIED,
        "verify_token": scheme.handshake is HandshakeKind.META,
        "secret": scheme.needs_secret,
        "previous_secret": scheme.needs_secret,
    }


def misplaced_errors(
    webhook: Webhook, scheme: WebhookScheme, place: str
) -> Iterator[ConfigError]:
    """Yield settings that the scheme does not use: a user could rely on them."""
    table = webhook_table(webhook)
    for key, is_used in scheme_keys(scheme).items():
        if not is_used and table.get(key):
            yield ConfigError(
                Text("the scheme {scheme} does not use this", scheme=webhook.scheme),
                hint=Text("Remove it."),
                field=f"{place}{key}",
            )


def missing_errors(
    webhook: Webhook, scheme: WebhookScheme, place: str
) -> Iterator[ConfigError]:
    """Yield settings that the scheme cannot do without."""
    needed = {
        "hmac": "signature_header",
        VerificationKind.BASIC: "username",
        VerificationKind.PAYPAL: "webhook_id",
        VerificationKind.UNVERIFIED: "reason",
        VerificationKind.FETCH: "configuration",
    }
    key = needed.get(webhook.scheme) or needed.get(scheme.kind)
    if key and not getattr(webhook, key):
        yield ConfigError(
            Text("the scheme {scheme} needs this", scheme=webhook.scheme),
            field=f"{place}{key}",
        )
    if scheme.kind is VerificationKind.SNS and not TOPIC.fullmatch(webhook.topic):
        yield ConfigError(
            Text("this is not the ARN of an SNS topic"),
            hint=Text("Write it as AWS shows it: arn:aws:sns:REGION:ACCOUNT:NAME."),
            field=f"{place}topic",
        )


def template_errors(webhook: Webhook, place: str) -> Iterator[ConfigError]:
    """Yield the errors in the signed text of a custom scheme."""
    signed = webhook.signed
    used = PLACE.findall(signed)
    unknown = [name for name in used if name not in PLACES]
    if unknown or "{body}" not in used:
        yield ConfigError(
            Text(
                "must have {body}, and no other places than {places}",
                body="{body}",
                places=", ".join(PLACES),
            ),
            field=f"{place}signed",
        )
    if len(set(used)) < len(used):
        # A short template could make gigabytes of a body.
        yield ConfigError(
            Text("each place may occur once only"),
            hint=Text(
                "Write what the sender documents, such as {example}.", example=EXAMPLE
            ),
            field=f"{place}signed",
        )
    pairs = (("{timestamp}", "timestamp_header"), ("{id}", "id_header"))
    for name, key in pairs:
        if name in used and not getattr(webhook, key):
            yield ConfigError(
                Text("{name} needs {key}", name=name, key=key), field=f"{place}{key}"
            )
    if webhook.timestamp_header and "{timestamp}" not in used:
        # An attacker could write another time into a header that is not signed.
        yield ConfigError(
            Text("a timestamp that is not signed protects from nothing"),
            hint=Text("Put {name} into signed, or remove it.", name="{timestamp}"),
            field=f"{place}timestamp_header",
        )
