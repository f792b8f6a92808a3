"""Whatever a script does with its secret, outkey's own words never repeat it."""

import traceback

import pytest

from frames import product_frames
from outkey.foundation.core.errors import OutkeyError
from outkey.sending.adapters.scripts_locked.link import ScriptTimedOut
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from outkey.sending.core.request.script import ScriptCall
from outkey.testing.canary import Canaries, find
from scripts.conftest import body_of, call_of

SECRET = "sync_line.api_config_id.get_secret_key()"
FORGE = "import uuid\nos, sys = uuid.os, uuid.sys\n"
LEAKS = {
    "exception text": body_of(f"raise ValueError({SECRET})"),
    "class name": body_of(f"raise type({SECRET}, (KeyError,), {{}})"),
    "class module": body_of(
        f"raise type('A', (KeyError,), {{'__module__': {SECRET}}})"
    ),
    "exception group": body_of(
        f"raise ExceptionGroup({SECRET}, [ValueError({SECRET})])"
    ),
    "exception note": body_of("e = ValueError()", f"e.add_note({SECRET})", "raise e"),
    "exit text": body_of(f"raise SystemExit({SECRET})"),
    "key that is missing": body_of(f"return {{}}[{SECRET}]"),
    "import of a name": body_of(f"__import__({SECRET})"),
    "file of a name": body_of(f"open('/' + {SECRET})"),
    "evaluated text": body_of(f"eval({SECRET})"),
    "compiled with the secret as its file": body_of(
        f"exec(compile('1/0', {SECRET}, 'exec'))"
    ),
    "line of the secret": body_of(
        f"n = int.from_bytes({SECRET}.encode()[:4])",
        "exec(compile('\\n' * 999 + '1/0', '<script>', 'exec'))",
    ),
    "type returned": body_of(f"return type({SECRET}, (), {{}})()"),
    "type of a value": body_of(f"return {{'A': type({SECRET}, (), {{}})()}}"),
    "type of a name": body_of(f"return {{type({SECRET}, (), {{}})(): 'x'}}"),
    "name with a line break": body_of(f"return {{{SECRET} + '\\n': 'x'}}"),
    "value with a line break": body_of(f"return {{'A': {SECRET} + '\\n'}}"),
    "too many headers": body_of(f"return {{'A': {SECRET} * 9000}}"),
    "half a character": body_of(f"return {{'A': {SECRET} + chr(0xd800)}}"),
    "printed": body_of(f"print({SECRET})", "1/0"),
    "forged report": (
        FORGE
        + body_of(
            f"os.write(3, sys._getframe(2).f_locals['tag'] + b'E' + {SECRET}.encode() +"
            " b' 1')"
        )
    ),
    "forged type": (
        FORGE
        + body_of(
            f"os.write(3, sys._getframe(2).f_locals['tag'] + b'Hm' + {SECRET}.encode())"
        )
    ),
    "forged line": (
        FORGE
        + body_of("os.write(3, sys._getframe(2).f_locals['tag'] + b'EKeyError 123456')")
    ),
    "forged failure": FORGE + body_of(f"os.write(3, b'F' + {SECRET}.encode())"),
    "dead": FORGE + body_of(f"x = {SECRET}", "os._exit(0)"),
}


def run_failing(scripts: LockedScripts, call: ScriptCall) -> OutkeyError:
    """Return the error of a script, after a search for its secret."""
    assert call.secret is not None
    secret = call.secret.reveal()
    with pytest.raises(OutkeyError) as caught:
        scripts.run(call)
    said = [*traceback.format_exception(caught.value), repr(caught.value.facts())]
    said += [repr(frame.f_locals) for frame in product_frames(caught.value)]
    assert find("".join(said).encode(), secret) == []
    assert caught.value.__context__ is None
    return caught.value


@pytest.mark.parametrize("name", LEAKS)
def test_no_error_repeats_the_secret(
    shared: LockedScripts, canary: Canaries, name: str
) -> None:
    error = run_failing(shared, call_of(LEAKS[name], canary("key"), place=name))
    assert "123456" not in error.message
    if name.startswith("forged"):
        assert "sent an unexpected message" in error.message


def test_a_timeout_does_not_repeat_the_secret(canary: Canaries) -> None:
    scripts = LockedScripts(limit=0.1)
    call = call_of(body_of(f"x = {SECRET}", "while True: pass"), canary("key"))
    assert isinstance(run_failing(scripts, call), ScriptTimedOut)
    scripts.close()


def test_headers_come_back_as_secrets(shared: LockedScripts, canary: Canaries) -> None:
    secret = canary("key")
    pairs = shared.run(call_of(body_of(f"return {{'A': {SECRET}}}"), secret)).headers
    assert repr(pairs) == "(('A', Secret(***)),)"
    assert pairs[0][1].reveal() == secret
