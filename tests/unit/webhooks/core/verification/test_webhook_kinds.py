"""What is decided for each kind of verification.

The code that differs between kinds is in several modules, most of which have a default.
A new kind must be listed here under every question, on one side or the other.
"""

from collections.abc import Callable

import pytest

from outkey.webhooks.core.schemes.instructions import SECRET_STEPS
from outkey.webhooks.core.schemes.scheme import VerificationKind, WebhookScheme
from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.settings.section import missing_errors, scheme_keys
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.core.verification.sample_receivers import reveals_secret
from outkey.webhooks.core.verification.signing import SIGNERS

# Settings that only one kind has.
OWN_SETTINGS = ("token_header", "username", "topic", "webhook_id", "reason")


def scheme_of_kind(kind: VerificationKind) -> WebhookScheme:
    return WebhookScheme(
        name="x", label="X", kind=kind, signature_headers=("Authorization",)
    )


def has_own_setting(scheme: WebhookScheme) -> bool:
    uses = scheme_keys(scheme)
    return any(uses[key] for key in OWN_SETTINGS)


# The kinds for which the answer is yes, and those for which it is no.
QUESTIONS: dict[str, tuple[Callable[[WebhookScheme], bool], str, str]] = {
    "the secret itself is sent": (
        lambda scheme: reveals_secret(scheme.kind),
        "token basic graph",
        "signature twilio mailgun adyen sns paypal http_signature fetch unverified",
    ),
    "the URL is signed, without a template that names it": (
        lambda scheme: scheme.signs_url,
        "twilio http_signature",
        "signature token basic mailgun adyen graph sns paypal fetch unverified",
    ),
    "the whole body is signed": (
        lambda scheme: scheme.signs_body,
        "signature twilio http_signature",
        "token basic mailgun adyen graph sns paypal fetch unverified",
    ),
    "an id in the body is signed": (
        lambda scheme: scheme.signs_id,
        "signature adyen sns",
        "token basic twilio mailgun graph paypal http_signature fetch unverified",
    ),
    "it needs a secret": (
        lambda scheme: scheme.needs_secret,
        "signature token basic twilio mailgun adyen graph http_signature",
        "sns paypal fetch unverified",
    ),
    "the secret is in the body": (
        lambda scheme: scheme.has_secret_in_body,
        "graph",
        (
            "signature token basic twilio mailgun adyen sns paypal http_signature fetch"
            " unverified"
        ),
    ),
    "a signature of a part is in the body": (
        lambda scheme: bool(scheme.signature_member),
        "adyen mailgun sns",
        "signature token basic twilio graph paypal http_signature fetch unverified",
    ),
    "anyone who knows the endpoint can send one": (
        lambda scheme: scheme.proves_nothing,
        "fetch unverified",
        "signature token basic twilio mailgun adyen graph sns paypal http_signature",
    ),
    "outkey can sign a sample": (
        lambda scheme: scheme.kind in SIGNERS,
        (
            "signature token basic twilio mailgun adyen graph http_signature fetch"
            " unverified"
        ),
        "sns paypal",
    ),
    "its step at the sender is its own": (
        lambda scheme: scheme.kind in SECRET_STEPS,
        "basic sns paypal fetch unverified",
        "signature token twilio mailgun adyen graph http_signature",
    ),
    "it has a setting of its own": (
        has_own_setting,
        "token basic sns paypal unverified",
        "signature twilio mailgun adyen graph http_signature fetch",
    ),
    "a setting must not be empty": (
        lambda scheme: any(missing_errors(Webhook("shop", "x"), scheme, "")),
        "basic sns paypal fetch unverified",
        "signature token twilio mailgun adyen graph http_signature",
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question_has_an_answer_for_each_kind(question: str) -> None:
    ask, yes, no = QUESTIONS[question]
    listed = [*yes.split(), *no.split()]
    assert sorted(listed) == sorted(VerificationKind)
    answers = {kind for kind in VerificationKind if ask(scheme_of_kind(kind))}
    assert answers == set(yes.split())


def test_each_kind_has_a_scheme() -> None:
    assert {scheme.kind for scheme in SCHEMES.values()} == set(VerificationKind)
