"""A program brings the next credentials, and takes the steps of the rotation."""

from collections.abc import Callable

import pytest

from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.access.http_statuses import status_of
from outkey.administration.engine.access.api_access import ApiAccess
from outkey.administration.engine.access.api_rotation import ApiRotation
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.foundation.core.errors import (
    BlockedByPolicy,
    ConfigError,
    InvalidRequest,
    RotationNone,
    RotationPending,
    RotationUntested,
    ScopeMissing,
    UnknownConfiguration,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.core.audit.events import Change, Tag
from outkey.sending.core.request.message import Response
from unit.administration.core.access.test_api_access import BEARER, access, prepared
from unit.application_in_memory import MemoryHost

ACCEPTED = Response(200)
REFUSED = Response(401)
TESTED = [ACCEPTED, REFUSED]  # with the next token, and without any


def host_with_token(*responses: Response) -> MemoryHost:
    host = prepared(responses=list(responses))
    administration = host.application.administration("ada")
    secrets = {"token": Secret("in-use")}
    administration.save(ConfigurationChange(None, BEARER, secrets=secrets))
    host.world.secrets.values["token"] = "any"
    return host


def rotation_of(host: MemoryHost, *scopes: Scope, **wishes: object) -> ApiRotation:
    return ApiRotation(access(host, *scopes, **wishes), "crm")  # type: ignore[arg-type]


def stage(rotation: ApiRotation, value: str = "next") -> int:
    return rotation.stage("token", value=value, reference=None)


STEPS: dict[str, tuple[Scope, Callable[[ApiRotation], object]]] = {
    "status": (Scope.READ, ApiRotation.status),
    "stage": (Scope.MANAGE, stage),
    "start": (Scope.MANAGE, lambda rotation: rotation.start(None, None)),
    "promote": (Scope.MANAGE, ApiRotation.promote),
    "back": (Scope.MANAGE, ApiRotation.back),
    "retire": (Scope.MANAGE, ApiRotation.retire),
    "discard": (Scope.MANAGE, ApiRotation.discard),
    "test": (Scope.SEND, ApiRotation.test),
    "probe": (Scope.SEND, ApiRotation.probe),
}


@pytest.mark.parametrize("name", STEPS)
def test_each_step_needs_its_scope(name: str) -> None:
    needed, step = STEPS[name]
    others = {*Scope} - {needed}
    if needed is Scope.READ:
        others.discard(Scope.MANAGE)  # includes it
    with pytest.raises(ScopeMissing):
        step(rotation_of(host_with_token(), *others))


@pytest.mark.parametrize("name", STEPS)
def test_another_configuration_than_the_tokens_is_unknown(name: str) -> None:
    _, step = STEPS[name]
    granted: ApiAccess = access(host_with_token(), configurations=["acme"])
    with pytest.raises(UnknownConfiguration):
        step(ApiRotation(granted, "crm"))


def test_a_program_brings_tests_promotes_and_takes_back_a_token() -> None:
    host = host_with_token(*TESTED, REFUSED)
    rotation = rotation_of(host)
    assert stage(rotation) == rotation.next_serial() == 2
    assert rotation.test().ok
    assert rotation.promote() == 2
    assert rotation.status()["state"] == "overlap"
    assert rotation.probe().refused is True
    assert rotation.back() == 1
    steps = [event for event in host.audit.events if isinstance(event, Change)]
    assert {step.actor for step in steps} == {"token:ci"}
    assert Tag.ROTATION_PROMOTED in {step.tag for step in steps}


def test_a_trial_is_started_and_taken_back() -> None:
    rotation = rotation_of(host_with_token(*TESTED))
    stage(rotation)
    rotation.test()
    trial = rotation.start(50, None)
    assert (trial.share, trial.after) == (50, 20)
    assert rotation.back() == 1
    assert rotation.status()["state"] == "staged"


def test_steps_out_of_turn_are_conflicts() -> None:
    rotation = rotation_of(host_with_token(*TESTED))
    for step in (ApiRotation.promote, ApiRotation.discard, ApiRotation.retire):
        assert conflict_of(rotation, step) is RotationNone
    stage(rotation)
    assert conflict_of(rotation, ApiRotation.promote) is RotationUntested
    rotation.test()
    rotation.promote()
    assert conflict_of(rotation, stage) is RotationPending
    assert conflict_of(rotation, ApiRotation.retire) is RotationUntested


def conflict_of(
    rotation: ApiRotation, step: Callable[[ApiRotation], object]
) -> type[ConfigError]:
    with pytest.raises(ConfigError) as refused:
        step(rotation)
    assert status_of(refused.value) == 409
    return type(refused.value)


def test_a_reference_is_one_that_the_operator_offers() -> None:
    rotation = rotation_of(host_with_token(), references=("env:NEXT_TOKEN",))
    with pytest.raises(BlockedByPolicy, match="operator"):
        rotation.stage("token", value=None, reference="file:/etc/passwd")
    assert rotation.stage("token", value=None, reference="env:NEXT_TOKEN") == 2
    with pytest.raises(InvalidRequest, match="either value or reference"):
        rotation.stage("token", value="x", reference="env:NEXT_TOKEN")


def test_a_setting_of_the_set_has_a_value_and_no_reference() -> None:
    rotation = rotation_of(host_with_token(), references=("env:NEXT_DAY",))
    rotation.stage("token_expires_on", value="2099-01-01", reference=None)
    assert rotation.status()["next"]["fields"] == ["token_expires_on"]  # type: ignore[index]
    with pytest.raises(ConfigError, match="has no reference"):
        rotation.stage("token_expires_on", value=None, reference="env:NEXT_DAY")


@pytest.mark.parametrize("step", ["retire", "discard"])
def test_what_a_program_destroys_is_destroyed(step: str) -> None:
    host = host_with_token(*TESTED, ACCEPTED)
    rotation = rotation_of(host)
    stage(rotation)
    if step == "retire":
        rotation.test()
        rotation.promote()
        rotation.access.test("crm")
        assert rotation.retire() == 1
    else:
        assert rotation.discard() == 2
    assert rotation.status()["state"] == "none"
