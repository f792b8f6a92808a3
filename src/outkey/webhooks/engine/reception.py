"""Receiving deliveries: verified, stored once, and only then answered.

Nothing of a delivery is believed, parsed or looked up before it is verified.
"""

import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from outkey.foundation.core.errors import (
    OutkeyError,
    SecretMissing,
    StorageUnavailable,
    UnknownConfiguration,
)
from outkey.foundation.core.limited_json import read_limited_json
from outkey.foundation.ports.clock import Clock
from outkey.foundation.ports.database import Database
from outkey.foundation.ports.expressions import PathCompiler
from outkey.sending.ports.sending import Audit
from outkey.webhooks.core.inbox.content import without_proof, without_signature
from outkey.webhooks.core.inbox.delivery import (
    CertificateNeeded,
    Delivery,
    NotVerified,
    Outcome,
    RefusalReason,
    Refused,
    SignedEvent,
    Verified,
    WebhookSecrets,
)
from outkey.webhooks.core.inbox.inbox import WAITING, InboxDelivery
from outkey.webhooks.core.settings.settings import scheme_of
from outkey.webhooks.core.settings.stored import StoredWebhook
from outkey.webhooks.core.verification.attempt import event_text, signed_digest
from outkey.webhooks.core.verification.explanation import explain
from outkey.webhooks.core.verification.handshakes import (
    HandshakeResponse,
    answer_open_handshake,
    answer_signed_handshake,
)
from outkey.webhooks.core.verification.identity import (
    is_notice,
    is_senders_id,
    nonce_of,
)
from outkey.webhooks.core.verification.public_keys import PublicKeys
from outkey.webhooks.core.verification.refusals import (
    SECRET_UNRESOLVED,
    TOO_MANY,
    refusal,
)
from outkey.webhooks.core.verification.verification import verify
from outkey.webhooks.engine.batched_writes import Intake
from outkey.webhooks.engine.fetching import Certificates
from outkey.webhooks.engine.offers import accept_offer
from outkey.webhooks.engine.refusals import RefusalCounter, Refusals
from outkey.webhooks.engine.samples import without_mark
from outkey.webhooks.engine.stored_webhooks import WebhookSettings
from outkey.webhooks.engine.unsigned_counter import UnsignedCounter
from outkey.webhooks.ports.webhooks import DeliveryQuery, DeliveryRows

MEBIBYTE = 1024 * 1024
MAX_BODY = MEBIBYTE  # unless the operator sets another limit
RETRY_SECONDS = 60  # Retry-After while deliveries cannot be stored
METHODS = ("POST", "PUT", "PATCH")


class WebhookResponse(NamedTuple):
    """The response to a delivery."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


ACCEPTED = WebhookResponse(200)
REFUSED = WebhookResponse(401)
UNKNOWN = WebhookResponse(404)
WRONG_METHOD = WebhookResponse(405, headers=(("Allow", "POST"),))
GONE = WebhookResponse(410)
TOO_LARGE = WebhookResponse(413)
RETRY_LATER = WebhookResponse(503, headers=(("Retry-After", str(RETRY_SECONDS)),))


@dataclass(frozen=True, slots=True)
class ReceptionPorts:
    """The parts of an installation that reception uses."""

    settings: WebhookSettings
    deliveries: DeliveryRows
    refusals: Refusals
    database: Database
    clock: Clock
    keys: PublicKeys
    finder: PathCompiler
    fetch: Callable[[str], bytes]  # a public document, by the rules of sending
    audit: Audit
    max_body: int = MAX_BODY


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the settings of a webhook make of a delivery, before anything is done."""

    stored: StoredWebhook
    opened: WebhookSecrets
    handshake: HandshakeResponse | None = None  # one that is not signed
    outcome: Outcome | None = None  # None if there was nothing to verify


class Reception:
    """Responds to the requests to endpoints; nothing here raises.

    A delivery is verified by the webhook as it was last read. Whether the webhook is
    still the same is found out when the delivery is stored, by one read for all that
    are stored together. For any other response the webhook is read first.
    """

    def __init__(
        self, ports: ReceptionPorts, refusals: RefusalCounter | None = None
    ) -> None:
        self._ports = ports
        self._refusals: RefusalCounter = refusals or ports.refusals
        self._intake = Intake(
            ports.deliveries, ports.database, ports.settings.read_again
        )
        self._unsigned = UnsignedCounter()
        self._certificates = Certificates(ports.fetch, ports.clock.monotonic)
        self.max_body = ports.max_body

    def receive(self, endpoint: str, delivery: Delivery) -> WebhookResponse:
        """Verify and store a delivery, or refuse it; return the response."""
        if len(delivery.body) > self.max_body:
            return TOO_LARGE
        try:
            early = self._judge_early(endpoint, delivery)
            if early is not None and self._store_early(early, delivery):
                return ACCEPTED
            return self._look_up_and_answer(endpoint, delivery, early)
        except UnknownConfiguration:
            return UNKNOWN
        except OutkeyError:
            # Sealed, or storage is unavailable. The sender will retry.
            return RETRY_LATER

    def _judge_early(self, endpoint: str, delivery: Delivery) -> Judgement | None:
        """Return the judgement by the webhook as it was last read, if there is one."""
        known = self._ports.settings.last_read(endpoint)
        if known is None or known.is_paused:
            return None
        with suppress(OutkeyError):  # perhaps the current settings raise none
            return self._judge(known, delivery)
        return None

    def _store_early(self, judgement: Judgement, delivery: Delivery) -> bool:
        """Store a delivery that only has to be stored, and return whether it was.

        Nothing is done for any other delivery, nor if the webhook has changed.
        """
        stored, opened = judgement.stored, judgement.opened
        verified = judgement.outcome
        if not isinstance(verified, Verified) or _proves_nothing(stored):
            return False
        webhook = stored.webhook
        if answer_signed_handshake(delivery, webhook, opened, verified) is not None:
            return False
        delivery = _without_proof(judgement, delivery)
        return self._store(stored, delivery, verified, verified_by=stored)

    def _look_up_and_answer(
        self, endpoint: str, delivery: Delivery, early: Judgement | None
    ) -> WebhookResponse:
        """Read the webhook and respond; an early judgement by the same one is used."""
        stored = self._look_up(endpoint)
        if stored is None:
            return GONE
        if stored.is_paused:
            return RETRY_LATER
        if early is not None and early.stored is stored:
            return self._answer(early, delivery)
        try:
            judgement = self._judge(stored, delivery)
        except SecretMissing:
            self._refusals.count(stored.name, SECRET_UNRESOLVED)
            return RETRY_LATER
        return self._answer(judgement, delivery)

    def _look_up(self, endpoint: str) -> StoredWebhook | None:
        """Return the webhook of an endpoint; a look-up that fails is repeated once.

        The connection of this thread may be an old one, to a database that was
        restarted.
        """
        with suppress(StorageUnavailable):
            return self._ports.settings.by_endpoint(endpoint)
        return self._ports.settings.by_endpoint(endpoint)

    def _judge(self, stored: StoredWebhook, delivery: Delivery) -> Judgement:
        """Judge a delivery; SecretMissing if a reference names nothing."""
        opened = self._ports.settings.open_secrets(stored)
        handshake = answer_open_handshake(delivery, stored.webhook, opened)
        if handshake is not None or delivery.method not in METHODS:
            return Judgement(stored, opened, handshake)
        outcome = self._verify(stored, delivery, opened)
        return Judgement(stored, opened, outcome=outcome)

    def _answer(self, judgement: Judgement, delivery: Delivery) -> WebhookResponse:
        stored, opened = judgement.stored, judgement.opened
        if judgement.handshake is not None:
            return self._shake_hands(stored, judgement.handshake, delivery.address)
        outcome = judgement.outcome
        if outcome is None:
            return WRONG_METHOD
        if isinstance(outcome, CertificateNeeded):
            outcome = self._verify_by_certificate(judgement, delivery, outcome.url)
        if not isinstance(outcome, Verified):
            return self._refuse(stored, delivery, opened, outcome)
        handshake = answer_signed_handshake(delivery, stored.webhook, opened, outcome)
        if handshake is not None:
            return self._shake_hands(stored, handshake, delivery.address)
        return self._accept(stored, _without_proof(judgement, delivery), outcome)

    def _accept(
        self, stored: StoredWebhook, delivery: Delivery, verified: Verified
    ) -> WebhookResponse:
        """Store a delivery, unless too many came that prove nothing."""
        if _proves_nothing(stored):
            if self._is_waiting(stored, delivery, verified):
                return ACCEPTED  # and not counted: it adds no work
            now = self._ports.clock.now()
            seconds = self._unsigned.seconds_to_wait(
                stored.endpoint, delivery.address, now
            )
            if seconds:
                self._refusals.count(stored.name, TOO_MANY)
                return WebhookResponse(429, headers=(("Retry-After", str(seconds)),))
        self._store(stored, delivery, verified)
        return ACCEPTED

    def _is_waiting(
        self, stored: StoredWebhook, delivery: Delivery, verified: Verified
    ) -> bool:
        """Whether an earlier delivery waits that names the same object."""
        nonce = nonce_of(stored, delivery, verified, event_id="")
        if not nonce.startswith(WAITING):
            return False
        query = DeliveryQuery(endpoint=stored.endpoint, nonce=nonce, limit=1)
        return bool(self._ports.deliveries.find(query))

    def _verify(
        self,
        stored: StoredWebhook,
        delivery: Delivery,
        opened: WebhookSecrets,
        certificate: bytes = b"",
    ) -> Outcome:
        return verify(
            delivery,
            stored.webhook,
            opened,
            now=self._ports.clock.now(),
            keys=self._ports.keys,
            certificate=certificate,
        )

    def _verify_by_certificate(
        self, judgement: Judgement, delivery: Delivery, url: str
    ) -> Outcome:
        """Return the outcome with the certificate that the sender names."""
        certificate = self._certificates.get(url)
        stored, opened = judgement.stored, judgement.opened
        outcome = self._verify(stored, delivery, opened, certificate)
        if isinstance(outcome, Verified):
            self._certificates.keep(url, certificate)
        return outcome

    def _refuse(
        self,
        stored: StoredWebhook,
        delivery: Delivery,
        opened: WebhookSecrets,
        outcome: Refused | CertificateNeeded,
    ) -> WebhookResponse:
        """Count a refusal. Its response tells nothing about the reason."""
        ports = self._ports
        refused = refusal(NotVerified(RefusalReason.CERTIFICATE))
        if isinstance(outcome, Refused):
            refused = outcome

        def find_reason() -> Refused:
            explanation = explain(
                delivery,
                stored.webhook,
                opened,
                now=ports.clock.now(),
                keys=ports.keys,
            )
            return explanation or refused

        self._refusals.count(stored.name, refused.reason, find_reason=find_reason)
        return REFUSED

    def _shake_hands(
        self, stored: StoredWebhook, handshake: HandshakeResponse, address: str = ""
    ) -> WebhookResponse:
        offered = handshake.offered_secret
        ports = self._ports
        if offered and not accept_offer(
            ports.settings, ports.audit, stored, offered=offered, address=address
        ):
            return REFUSED  # another handshake was faster
        if handshake.fetch_url:
            self._ports.fetch(handshake.fetch_url)
        body = handshake.body.encode()
        return WebhookResponse(handshake.status, body, handshake.headers)

    def _store(
        self,
        stored: StoredWebhook,
        delivery: Delivery,
        verified: Verified,
        *,
        verified_by: StoredWebhook | None = None,
    ) -> bool:
        """Commit a delivery; the same one again changes nothing.

        Return False if the webhook that it was `verified_by` has changed.
        """
        samples = self._ports.settings.samples
        tested_by = samples.tested_by(stored.endpoint, delivery)
        delivery = without_mark(delivery)
        for event in verified.events or (self._event(stored, delivery, verified),):
            body = without_signature(event.body, stored.webhook)
            content = delivery.with_body(body)
            received = InboxDelivery(
                id="",
                endpoint=stored.endpoint,
                key=event.key,
                event_id=event.event_id,
                event_type=event.event_type,
                nonce=nonce_of(stored, delivery, verified, event_id=event.event_id),
                fetch_id=verified.fetch_id,
                tested_by=tested_by,
                body=self._ports.settings.seal_content(stored, event.key, content),
            )
            if not self._intake.store(received, verified_by):
                return False
        return True

    def _event(
        self, stored: StoredWebhook, delivery: Delivery, verified: Verified
    ) -> SignedEvent:
        """Return the one event of a delivery."""
        event_id = verified.event_id or self._found_id(stored, delivery.body)
        digest = "" if is_notice(stored, verified) else verified.digest
        key = event_id or digest or secrets.token_hex(16)
        if event_id and not is_senders_id(stored, verified):
            key = signed_digest(f"{event_id}\n".encode() + delivery.body)
        return SignedEvent(key, event_id, verified.event_type, delivery.body)

    def _found_id(self, stored: StoredWebhook, body: bytes) -> str:
        """Return the id that a user's expression finds in a verified body."""
        expression = stored.webhook.id
        if not expression:
            return ""
        value: object = None
        with suppress(ValueError, OutkeyError):
            find = self._ports.finder.compile(expression, field="id")
            value = find(read_limited_json(body))
        is_id = isinstance(value, str | int) and not isinstance(value, bool)
        return event_text(str(value)) if is_id else ""


def _proves_nothing(stored: StoredWebhook) -> bool:
    scheme = scheme_of(stored.webhook)
    return scheme is not None and scheme.proves_nothing


def _without_proof(judgement: Judgement, delivery: Delivery) -> Delivery:
    """Return a verified delivery without the secret proof that its body may have."""
    webhook, known = judgement.stored.webhook, judgement.opened.known()
    return delivery.with_body(without_proof(delivery.body, webhook, known))
