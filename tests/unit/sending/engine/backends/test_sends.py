"""Sends whose secret is in an external store."""

from contextlib import suppress
from dataclasses import replace
from typing import cast

import pytest

from outkey.foundation.core.errors import BackendUnavailable, BackendUnknown
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.core.audit.events import Intent
from outkey.sending.core.backends.values import (
    NamedFields,
    Read,
    Reads,
    StoreKey,
)
from outkey.sending.core.configuration.reference import Reference, parse_reference
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.message import Response
from outkey.sending.engine.exchange.exchange import exchange
from outkey.sending.engine.wire.drive import drive
from outkey.sending.engine.wire.nonces import Nonces
from outkey.sending.engine.wire.steps import CallInThread
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from unit.sending.core.backends.test_vault import BACKEND
from unit.sending.engine.tokens.test_tokens import NAMES, OAUTH, Provider

REFERENCE = parse_reference("vault:db#token", field="token")
KEY = StoreKey(BACKEND, "vault", ("db",), "")


class TwoValues:
    """A store whose value has changed since it was cached, or has not."""

    def __init__(self, cached: str, stored: str) -> None:
        self.cached = cached
        self.stored = stored
        self.rereads = 0

    def open(self, reference: Reference, field: str, reads: Reads | None) -> Secret:
        assert reference == REFERENCE
        if not self.cached:
            raise BackendUnavailable(field=field, reason="backend-sealed")
        assert reads is not None
        read = reads.by_key.setdefault(KEY, self._read(self.cached))
        reads.fields[field] = read, "token"
        return reads.secret(field)

    def state(self) -> object:
        return self.cached

    def recall(self, reference: Reference, field: str, reads: Reads) -> bool:
        if self.cached:
            self.open(reference, field, reads)
        return bool(self.cached)

    def refuse(self, reference: Reference, field: str) -> None:
        """Refuse nothing."""

    def reread(self, reads: Reads) -> Reads | None:
        self.rereads += 1
        if self.cached == self.stored:
            return None
        fresh = Reads()
        fresh.by_key[KEY] = self._read(self.stored)
        fresh.fields = dict.fromkeys(reads.fields, (fresh.by_key[KEY], "token"))
        return fresh

    read_at = 0.0

    def _read(self, text: str) -> Read:
        value = NamedFields({"token": Secret(text)}, "7")
        return Read(KEY, value, self.read_at, cached=True, ms=0)


def send(store: TwoValues | None, *responses: Response) -> tuple[FakeWorld, Response]:
    state = SecretState("https://api.acme.example:443", REFERENCE)
    made = replace(
        configuration(authentication_type="bearer"), secrets={"token": state}
    )
    fake = fake_gateway(made, responses=list(responses))
    stores = None if store is None else lambda: store
    context = replace(
        fake.sender.context,
        secrets=ReferencedSecrets(stores=stores),
        stores=stores,
    )
    try:
        flow = exchange(context, Call(made, "POST", "/"))
        return fake, drive(flow, fake.sender.runtime)
    finally:
        TRIED.append(fake)


TRIED: list[FakeWorld] = []


class WatchedStore(TwoValues):
    """A store that notes whether it was asked in a thread of its own."""

    def __init__(self, *, is_at_hand: bool) -> None:
        super().__init__("old", "old")
        self.is_at_hand = is_at_hand
        self.is_in_thread = False
        self.asked: list[bool] = []

    def recall(self, reference: Reference, field: str, reads: Reads) -> bool:
        return self.is_at_hand and super().recall(reference, field, reads)

    def open(self, reference: Reference, field: str, reads: Reads | None) -> Secret:
        assert reads is not None
        if KEY not in reads.by_key:
            self.asked.append(self.is_in_thread)
        return super().open(reference, field, reads)


def places_of_reads(store: WatchedStore, settings: dict[str, object]) -> list[bool]:
    """Send a request; return for each read whether it was in a thread of its own."""
    built = configuration(**settings)
    states = {
        name: SecretState(built.binding_of(name), replace(REFERENCE))
        for name in built.needed_secrets()
    }
    made = replace(built, secrets=states)
    fake = fake_gateway(made, responses=Provider(), names=NAMES)
    context = replace(
        fake.sender.context,
        secrets=ReferencedSecrets(stores=lambda: store),
        stores=lambda: store,
    )
    flow = exchange(context, Call(made, "GET", "/"))
    result: object = None
    with suppress(StopIteration):
        while True:
            step = flow.send(result)  # type: ignore[arg-type]
            store.is_in_thread = isinstance(step, CallInThread)
            runtime = fake.sender.runtime
            result = runtime.perform(step)
            store.is_in_thread = False
    return store.asked


AUTHENTICATIONS = [{"authentication_type": "bearer"}, OAUTH]


@pytest.mark.parametrize("settings", AUTHENTICATIONS)
def test_a_store_that_hangs_holds_up_no_other_send_of_an_event_loop(
    settings: dict[str, object],
) -> None:
    assert places_of_reads(WatchedStore(is_at_hand=False), settings) == [True]


@pytest.mark.parametrize("settings", AUTHENTICATIONS)
def test_what_is_in_the_cache_needs_no_thread(settings: dict[str, object]) -> None:
    assert places_of_reads(WatchedStore(is_at_hand=True), settings) == [False]


def tokens(fake: FakeWorld) -> list[str]:
    return [
        cast("Secret", header.value).reveal()
        for request, _ in fake.transport.sent
        for header in request.headers
        if header.name == "Authorization"
    ]


def test_a_changed_secret_is_sent_once_after_a_refusal() -> None:
    store = TwoValues("old", "new")
    fake, response = send(store, Response(401), Response(200))
    assert response.status == 200
    assert tokens(fake) == ["Bearer old", "Bearer new"]
    assert store.rereads == 1


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_response_stands_if_the_secret_is_the_same(status: int) -> None:
    store = TwoValues("old", "old")
    fake, response = send(store, Response(status))
    assert (response.status, tokens(fake)) == (status, ["Bearer old"])
    assert store.rereads == (status == 401)


def test_a_second_refusal_is_the_answer_and_not_a_third_try() -> None:
    store = TwoValues("old", "new")
    fake, response = send(store, Response(401), Response(401))
    assert (response.status, len(fake.transport.sent)) == (401, 2)
    assert store.rereads == 1


def test_a_403_that_is_about_a_right_reads_nothing() -> None:
    store = TwoValues("old", "new")
    _, response = send(store, Response(403))
    assert (response.status, store.rereads) == (403, 0)


def test_the_record_of_a_request_names_the_source_of_its_secret() -> None:
    fake, _ = send(TwoValues("canary-value", "x"), Response(200))
    [intent] = [event for event in fake.audit.events if isinstance(event, Intent)]
    [source] = cast("list[dict[str, object]]", intent.facts()["sources"])
    assert source == {
        "field": "token",
        "backend": "main",
        "path": "db",
        "version": "7",
        "cached": True,
        "ms": 0,
    }
    assert "canary" not in repr(fake.audit.events)


def test_nothing_is_sent_while_the_store_gives_no_secret() -> None:
    with pytest.raises(BackendUnavailable):
        send(TwoValues("", ""))
    with pytest.raises(BackendUnknown):
        send(None)
    assert [fake.transport.sent for fake in TRIED[-2:]] == [[], []]


class CountedStore(TwoValues):
    """A store that counts how often its cache was looked into."""

    def __init__(self) -> None:
        super().__init__("old", "old")
        self.recalls = 0
        self.values: object = object()

    def state(self) -> object:
        return self.values

    def recall(self, reference: Reference, field: str, reads: Reads) -> bool:
        self.recalls += 1
        return super().recall(reference, field, reads)


class Sends:
    """Sends with a counted store, one after the other."""

    def __init__(self) -> None:
        self.store = CountedStore()
        state = SecretState("https://api.acme.example:443", REFERENCE)
        self.made = replace(
            configuration(authentication_type="bearer"), secrets={"token": state}
        )
        self.fake = fake_gateway(self.made, responses=[Response(200)] * 9)
        self.store.read_at = self.fake.clock.monotonic()
        self.context = replace(
            self.fake.sender.context,
            secrets=ReferencedSecrets(stores=lambda: self.store),
            stores=lambda: self.store,
        )

    def __call__(self) -> int:
        """Send, and return how often the cache was looked into by now."""
        flow = exchange(self.context, Call(self.made, "POST", "/"))
        drive(flow, self.fake.sender.runtime)
        return self.store.recalls


def test_values_that_did_not_change_are_looked_up_once() -> None:
    send_once_more = Sends()
    assert [send_once_more() for _ in range(3)] == [1, 1, 1]
    events = send_once_more.fake.audit.events
    intents = [event for event in events if isinstance(event, Intent)]
    assert [len(intent.sources) for intent in intents] == [1, 1, 1]


def test_another_state_of_the_stores_is_looked_up_at_once() -> None:
    send_once_more = Sends()
    send_once_more()
    send_once_more.store.values = object()
    assert send_once_more() == 2


def test_a_value_is_looked_up_again_when_it_has_expired() -> None:
    send_once_more = Sends()
    send_once_more()
    send_once_more.fake.clock.advance(BACKEND.cache_seconds)
    assert send_once_more() == 2


def test_a_changed_configuration_is_looked_up_at_once() -> None:
    send_once_more = Sends()
    send_once_more()
    send_once_more.made = replace(send_once_more.made, notes="changed")
    assert send_once_more() == 2


def test_contexts_with_other_ports_share_nothing() -> None:
    send_once_more = Sends()
    send_once_more()
    send_once_more.context = replace(send_once_more.context, nonces=Nonces())
    assert send_once_more() == 2
