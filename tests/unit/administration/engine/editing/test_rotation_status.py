"""What a user is told about a rotation, by an application without a database."""

from datetime import date

from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.administration.engine.editing.rotating import CredentialRotation
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Response
from outkey.sending.core.rotation.credential_sets import DAY
from outkey.testing import configuration
from outkey.testing.fakes.basic import FakeClock
from unit.application_in_memory import MemoryHost, memory_host


def rotated(**settings: object) -> MemoryHost:
    responses = [Response(200), Response(401)]
    host = memory_host(responses=responses)
    made = configuration(
        authentication_type="bearer", verification__test_path="/me", **settings
    )
    change = ConfigurationChange(None, made, secrets={"token": Secret("old")})
    host.application.administration("ada").save(change)
    host.world.secrets.values["token"] = "new"  # that of each set, for the test of one
    return host


def rotation_of(host: MemoryHost) -> CredentialRotation:
    application = host.application
    return application.credential_rotation(application.administration("ada"))


def stored(host: MemoryHost) -> Configuration:
    return host.registry.get("acme")


def findings(host: MemoryHost) -> list[tuple[object, object]]:
    listed = rotation_of(host).status("acme")["findings"]
    assert isinstance(listed, list)
    return [(finding["id"], finding["configuration"]) for finding in listed]


def pass_days(host: MemoryHost, days: float) -> None:
    clock = host.world.clock
    assert isinstance(clock, FakeClock)
    clock.sleep(days * DAY)


def promote(host: MemoryHost) -> None:
    assert rotation_of(host).test("acme").ok
    rotation_of(host).promote("acme")


def test_credentials_are_overdue_until_new_ones_are_in_use() -> None:
    host = rotated(rotation__rotate_after_days=30)
    pass_days(host, 30)
    assert findings(host) == []
    pass_days(host, 1)
    assert findings(host) == [("P-rotation-overdue", "acme")]
    rotation_of(host).stage_secret(stored(host), "token", Secret("new"))
    promote(host)
    assert findings(host) == []


def test_next_credentials_that_wait_for_a_week_are_found() -> None:
    host = rotated()
    rotation_of(host).stage_secret(stored(host), "token", Secret("new"))
    pass_days(host, 6.9)
    assert findings(host) == []
    pass_days(host, 0.1)
    assert findings(host) == [("P-rotation-stuck", "acme")]


def test_previous_credentials_that_outlive_their_overlap_are_found() -> None:
    host = rotated(rotation__overlap_days=2)
    rotation_of(host).stage_secret(stored(host), "token", Secret("new"))
    promote(host)
    pass_days(host, 1.9)
    assert findings(host) == []
    pass_days(host, 0.2)
    assert findings(host) == [("P-rotation-open", "acme")]


def test_a_staged_expiry_date_comes_and_goes_with_its_token() -> None:
    host = rotated(token_expires_on=date(2027, 1, 1))
    rotation = rotation_of(host)
    rotation.stage_secret(stored(host), "token", Secret("new"))
    rotation.rotations.stage_companion(
        stored(host), "token_expires_on", "2030-12-31", "ada"
    )
    assert stored(host).token_expires_on == date(2027, 1, 1)
    promote(host)
    assert stored(host).token_expires_on == date(2030, 12, 31)
    rotation.back("acme")
    assert stored(host).token_expires_on == date(2027, 1, 1)


def test_a_new_token_without_an_expiry_date_clears_the_old_one() -> None:
    host = rotated(token_expires_on=date(2027, 1, 1))
    rotation_of(host).stage_secret(stored(host), "token", Secret("new"))
    promote(host)
    assert stored(host).token_expires_on is None
    rotation_of(host).back("acme")
    assert stored(host).token_expires_on == date(2027, 1, 1)
