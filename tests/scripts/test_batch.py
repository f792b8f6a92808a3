"""Many calls of one script at once: as alone, only sooner."""

import pytest

from outkey.foundation.core.errors import HeaderFormatError, OutkeyError, ScriptFailed
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from outkey.sending.core.request.script import ScriptResult
from scripts.conftest import body_of, call_of, pid_of

ECHO = body_of(
    "request = sync_line.request",
    "return {'X-Name': sync_line.name, 'X-Body': request.body.decode(), 'X-Path':"
    " request.path}",
)


@pytest.mark.parametrize("count", [1, 2, 64, 65, 200])
def test_each_call_gets_its_own_answer_in_order(
    scripts: LockedScripts, count: int
) -> None:
    calls = [
        call_of(ECHO, name=f"line{at}", path=f"/{at}", body=b"b" * at)
        for at in range(count)
    ]
    for at, given in enumerate(scripts.run_all(calls)):
        assert not isinstance(given, OutkeyError)
        texts = {name: value.reveal() for name, value in given.headers}
        assert texts == {"X-Name": f"line{at}", "X-Body": "b" * at, "X-Path": f"/{at}"}


def test_answers_that_do_not_fit_into_one_message_come_in_more(
    scripts: LockedScripts,
) -> None:
    long = body_of("return {'A': sync_line.name * 30_000}")
    found = scripts.run_all([call_of(long, name=letter) for letter in "abcdefgh"])
    assert [
        given.headers[0][1].reveal()[:1]
        for given in found
        if not isinstance(given, OutkeyError)
    ] == [*"abcdefgh"]


def test_an_error_of_one_call_is_its_own(scripts: LockedScripts) -> None:
    odd = body_of(
        "if sync_line.name == 'raise': 1 / 0",
        "if sync_line.name == 'none': return None",
        "if sync_line.name == 'nul': return {'A': 'K\\0Kb'}",
        "return {'A': sync_line.name}",
    )
    names = ("one", "raise", "none", "nul", "two")
    given = scripts.run_all([call_of(odd, name=name) for name in names])
    kinds = [type(found) for found in given]
    assert kinds == [
        ScriptResult,
        ScriptFailed,
        HeaderFormatError,
        HeaderFormatError,
        ScriptResult,
    ]


@pytest.mark.parametrize("end", ["pass", "uuid.os._exit(3)"])
def test_a_call_that_never_answers_takes_no_other_with_it(end: str) -> None:
    scripts = LockedScripts(limit=0.05)
    source = "import uuid\n" + body_of(
        f"while sync_line.name == 'bad': {end}", "return {'A': sync_line.name}"
    )
    names = ["a", "b", "bad", "c", "d"]
    given = scripts.run_all([call_of(source, name=name) for name in names])
    assert [isinstance(found, ScriptFailed) for found in given] == [
        name == "bad" for name in names
    ]
    scripts.close()


def test_many_that_never_answer_are_set_aside_soon() -> None:
    scripts = LockedScripts(limit=0.05)
    loop = body_of("while True: pass")
    given = scripts.run_all([call_of(loop) for _ in range(6)])
    assert all(isinstance(found, ScriptFailed) for found in given)
    assert "disabled" in str(given[-1])
    scripts.close()


def test_a_batch_is_one_round_trip_to_the_warm_worker(scripts: LockedScripts) -> None:
    count = "n = 0\n" + body_of("global n", "n += 1", "return {'N': str(n)}")
    scripts.run(call_of(count))
    before = pid_of(scripts)
    given = scripts.run_all([call_of(count)] * 10)
    assert pid_of(scripts) == before
    assert [
        found.headers[0][1].reveal()
        for found in given
        if not isinstance(found, OutkeyError)
    ] == [str(at) for at in range(2, 12)]


@pytest.mark.parametrize(
    "other", [{"place": "b"}, {"secret": "b"}, {"source": ECHO + "\n"}]
)
def test_calls_of_two_scripts_or_secrets_are_no_batch(
    scripts: LockedScripts, other: dict[str, str]
) -> None:
    with pytest.raises(ValueError, match="not of one script"):
        scripts.run_all([call_of(source=ECHO), call_of(**{"source": ECHO} | other)])
