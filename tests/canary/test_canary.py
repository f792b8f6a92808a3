"""The harness that looks for leaked secrets can fail: every planted leak is found."""

import base64
import html
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.testing.canary import find

PLANTED = {
    "stdout": "print(secret)",
    "stderr": "import sys; print(secret, file=sys.stderr)",
    "log at DEBUG": (
        "import logging; logging.getLogger('deep.inside').debug('x %s', secret)"
    ),
    "exception": "raise RuntimeError(secret)",
    "assertion": "assert secret == 'other'",
    "Base64": (
        "import base64; print(base64.b64encode(('x' * 5 + secret +"
        " 'y').encode()).decode())"
    ),
    "Basic pair": (
        "import base64; print(base64.b64encode(f'user:{secret}'.encode()).decode())"
    ),
    "hexadecimal": "print(secret.encode().hex())",
    "percent": (
        "import urllib.parse; print('https://a/?k=' + urllib.parse.quote(secret,"
        " safe=''))"
    ),
    "JSON": "import json; print(json.dumps({'k': secret}))",
    "HTML": "import html; print('<p>' + html.escape(secret))",
    "file": "(tmp_path / 'backup.bin').write_bytes(b'\\0' * 100 + secret.encode())",
    "file in a folder": (
        "(tmp_path / 'd').mkdir(); (tmp_path / 'd' / 'wal').write_text(secret)"
    ),
}


@pytest.fixture(autouse=True)
def _only_this_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load no other plugin in the processes, which would take most of their time."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def run(pytester: pytest.Pytester, body: str) -> pytest.RunResult:
    pytester.makeconftest('pytest_plugins = ["outkey.testing.canary"]')
    pytester.makeini("[pytest]\nlog_level = DEBUG")
    made = "secret = canary('password', username='user')"
    pytester.makepyfile(f"def test_it(canary, tmp_path):\n    {made}\n    {body}")
    return pytester.runpytest_subprocess("-p", "no:cacheprovider")


@pytest.mark.parametrize("leak", PLANTED)
def test_a_planted_leak_fails_the_test_and_is_not_shown_again(
    pytester: pytest.Pytester, leak: str
) -> None:
    result = run(pytester, PLANTED[leak])
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the secret 'password' stands in *"])
    assert 'password~"' not in result.stdout.str()


@pytest.mark.parametrize(
    "leak", ["print(text)", "import logging; logging.debug(text[::-1][::-1])"]
)
def test_a_test_that_asks_for_no_canary_is_guarded_too(
    pytester: pytest.Pytester, leak: str
) -> None:
    pytester.makeconftest('pytest_plugins = ["outkey.testing.canary"]')
    pytester.makeini("[pytest]\nlog_level = DEBUG")
    pytester.makepyfile(
        "from outkey.foundation.core.secret import Secret\n"
        f"def test_it():\n    text = 'correct horse'\n    Secret(text)\n    {leak}"
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*a secret of 13 characters stands in *"])
    assert "correct horse" not in result.stdout.str()


def test_a_test_that_leaks_nothing_passes(pytester: pytest.Pytester) -> None:
    result = run(pytester, "print('password'); assert secret")
    result.assert_outcomes(passed=1)


@given(
    secret=st.text(st.characters(codec="utf-8"), min_size=8),
    before=st.binary(max_size=20),
    after=st.binary(max_size=20),
)
def test_a_secret_is_found_inside_longer_encoded_texts(
    secret: str, before: bytes, after: bytes
) -> None:
    whole = before + secret.encode() + after
    for encoded in (
        whole,
        base64.b64encode(whole),
        base64.urlsafe_b64encode(whole),
        whole.hex().encode(),
        urllib.parse.quote(secret, safe="").encode(),
        json.dumps(secret).encode(),
        html.escape(secret).encode(),
    ):
        assert find(encoded, secret), "not found"


def test_another_text_is_no_leak() -> None:
    assert (
        find(b"nothing of the kind, c2VjcmV0LW90aGVy", "secret-unrelated-0123456789")
        == []
    )
