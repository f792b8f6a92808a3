"""Guesses from many addresses are slowed down, and floods of them are counted."""

from accounts import PASSWORD, create_user
from axes.models import AccessAttempt  # type: ignore[import-untyped]
from clients import application, boss
from django.http import HttpResponseBase
from django.test import Client

from outkey.administration.engine.access import sign_ins
from outkey.hosts.server.sign_ins import counted_address, network_of, sign_in_guard
from outkey.sending.core.audit.events import ChangeEffect

SEEN = "192.0.2.1"


def sign_in(name: str, password: str, address: str) -> HttpResponseBase:
    client = Client(SERVER_NAME="127.0.0.1", REMOTE_ADDR=address)
    return client.post("/login/?next=/", {"username": name, "password": password})


def tags() -> list[str]:
    return [str(row["tag"]) for row in application.audit_trail.rows.newest(500)]


def one_machine_has_one_count_however_many_addresses_it_uses() -> None:
    create_user("six")
    statuses = [
        sign_in("six", "wrong", f"2001:db8:1:2:{number:x}::{number:x}").status_code
        for number in range(1, 7)
    ]
    assert statuses == [200] * 4 + [429] * 2, statuses
    # Another network is another client, and IPv4 in IPv6 is IPv4.
    assert sign_in("six", "wrong", "2001:db8:1:3::1").status_code == 200
    addresses = set(AccessAttempt.objects.values_list("ip_address", flat=True))
    assert addresses == {"2001:db8:1:2::", "2001:db8:1:3::"}, addresses
    for text, counted in (
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("192.0.2.7", "192.0.2.7"),
        ("", ""),
        ("unix", "unix"),
    ):
        request = Client(REMOTE_ADDR=text).get("/healthz").wsgi_request
        assert counted_address(request) == counted, text


def guesses_from_many_addresses_are_slowed_down_and_not_locked() -> None:
    create_user("ada")
    assert sign_in("ada", PASSWORD, SEEN).status_code == 302
    statuses = [
        sign_in("ada", "wrong", f"198.51.100.{number}").status_code
        for number in range(1, sign_ins.SLOW_AFTER + 1)
    ]
    assert statuses == [200] * sign_ins.SLOW_AFTER, statuses
    assert tags().count("people:session:slowed") == 1
    assert (
        sign_in("ada", "wrong", "198.51.100.77").status_code == 200
    )  # once in a while
    slowed = sign_in("ada", PASSWORD, "198.51.100.78")
    assert slowed.status_code == 429, slowed.status_code
    assert 1 <= int(slowed["Retry-After"]) <= sign_ins.SLOW_SECONDS
    assert b"Your password was not checked" in slowed.content  # type: ignore[attr-defined]
    # The same name in another spelling, as the form reads it, and another network.
    assert sign_in(" \uff41da ", PASSWORD, "198.51.100.79").status_code == 429
    waiting = sign_in("ada", PASSWORD, "203.0.113.99")
    assert int(waiting["Retry-After"]) > sign_ins.SLOW_SECONDS
    (pace,) = [pace for pace in sign_in_guard()._paces.values() if pace.appointments]
    assert set(pace.appointments) == {"198.51.100.0/24", "203.0.113.0/24"}
    assert network_of("2001:db8:1:2::") == "2001:db8:1::/48"
    assert network_of("unix") == "unix"
    # Who has signed in from there before does not wait, and others neither.
    assert sign_in("ada", PASSWORD, SEEN).status_code == 302
    assert sign_in("boss", PASSWORD, "198.51.100.78").status_code == 302
    # It was not counted for the lock.
    assert not AccessAttempt.objects.filter(ip_address="198.51.100.78").exists()


def attempts_while_locked_are_counted_and_not_stored() -> None:
    create_user("bob")
    address = "203.0.113.5"
    for _ in range(5):
        sign_in("bob", "wrong", address)
    (attempt,) = AccessAttempt.objects.filter(username="bob")
    before = tags().count("people:session:refused")
    for _ in range(20):
        assert sign_in("bob", "wrong", address).status_code == 429
    (same,) = AccessAttempt.objects.filter(username="bob")
    assert same.post_data == attempt.post_data
    assert same.attempt_time == attempt.attempt_time, "the lock lasts longer"
    assert tags().count("people:session:refused") == before
    sign_in_guard().note_all()
    rows = application.audit_trail.rows.newest(500)
    counted = [
        row["fields"]
        for row in rows
        if row.get("effect") == ChangeEffect.COUNTED_LOCKED
    ]
    assert ["20"] in counted, counted
    assert "bob" not in str(rows), "a name that was typed may be a password"


assert boss.check_password(PASSWORD)
one_machine_has_one_count_however_many_addresses_it_uses()
guesses_from_many_addresses_are_slowed_down_and_not_locked()
attempts_while_locked_are_counted_and_not_stored()
