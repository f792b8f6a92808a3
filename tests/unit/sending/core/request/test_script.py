"""Signing scripts without running one: the check, the inputs and the result."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.document.export import render
from outkey.foundation.core.errors import (
    ConfigError,
    HeaderConflict,
    HeaderFormatError,
    OutkeyError,
    ParameterConflict,
    ScriptFailed,
    SecretMissing,
)
from outkey.foundation.core.script_syntax import (
    IMPORT_HINT,
    OFFERED,
    asks_for_secret,
    check_imports,
    check_script,
    check_transform,
    examples,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.scripts_locked import preload
from outkey.sending.core.audit.events import Change
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sending.core.request.script import (
    MAX_BODY,
    SCRIPT_FACT,
    ScriptCall,
    ScriptResult,
    fingerprint,
    headers_of,
    script_parts,
    secret_digest,
)
from outkey.sending.engine.exchange.scripts import ScriptTrial, is_vouched, try_script
from outkey.sending.engine.wire.context import VouchedScripts
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from unit.administration.engine.editing.test_changes import Office

SCRIPT = "def compute_auth_header(sync_line):\n    return {}\n"
ASKING = """
def compute_auth_header(sync_line):
    return {"X-Key": sync_line.api_config_id.get_secret_key()}
"""
GOLDEN = (
    SCRIPT + 'GOLDEN = [{"secret": "made-up", "at": 1700000000, "method": "POST",'
    ' "url": "https://api.example/v1/orders?page=2", "body": "x",'
    ' "expect": {"X-Signature": "abc"}}]\n'
)


def trial(fake: FakeWorld, at: float | None = None) -> ScriptTrial:
    return try_script(fake.sender.context, fake.ports.configurations.get("acme"), at)


def world(secrets: dict[str, str] | None = None, **values: object) -> FakeWorld:
    made = configuration(
        **({"script": SCRIPT, "no_auth_reason": "public_api"} | values)
    )
    return fake_gateway(made, secrets=secrets)


def refusal(check: Callable[[str], None], source: str) -> str:
    """Return why a check refuses a script; empty where it does not."""
    try:
        check(source)
    except ConfigError as error:
        return str(error)
    return ""


def sent(fake: FakeWorld) -> dict[str, str]:
    request, _ = fake.transport.sent[-1]
    return {
        name: value.reveal() if isinstance(value, Secret) else value
        for name, value, _ in request.headers
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def compute_auth_header(sync_line)\n    pass", "line 1: this is not Python"),
        ("x = 1\ny = (\n", "line 2: this is not Python"),
        ("x = 1", "has no function compute_auth_header"),
        ("async def compute_auth_header(line): pass", "line 1: .* plain function"),
        ("class compute_auth_header: pass", "line 1: .* plain function"),
        ("def compute_auth_header(): pass", "line 1: .* one parameter"),
        ("def compute_auth_header(a, b): pass", "line 1: .* one parameter"),
        ("def compute_auth_header(a, *, b): pass", "line 1: .* one parameter"),
        (SCRIPT + "#" + "x" * 65536, "longer than 64 KiB"),
        ("-" * 60000 + "1", "cannot be read|not Python"),
        ("\0", "not Python|cannot be read"),
        (SCRIPT + "GOLDEN = 7", "GOLDEN must be a list"),
        (SCRIPT + "GOLDEN = [{}] * 21", "GOLDEN must be a list"),
        (SCRIPT + f"GOLDEN = {[{}] * 21}", "at most 20"),
        (SCRIPT + "GOLDEN = [f()]", "GOLDEN must be a list of literals"),
        (SCRIPT + "GOLDEN = [{'other': 1}]", "GOLDEN has an unknown key"),
        (SCRIPT + "GOLDEN = [1]", "GOLDEN has an unknown key"),
        (SCRIPT + "GOLDEN = [{'expect': {'a': 1}}]", "GOLDEN needs expect"),
        (SCRIPT + "GOLDEN = [{'expect': {}, 'body': 1}]", "GOLDEN needs expect"),
        (SCRIPT + "GOLDEN = []\nGOLDEN = []", "GOLDEN must be assigned once"),
        (SCRIPT + "GOLDEN: list = []", "GOLDEN must be assigned once"),
        (SCRIPT + "GOLDEN = []\nGOLDEN += [1]", "GOLDEN must be assigned once"),
        (
            SCRIPT + f"GOLDEN = [{{'expect': {{}}, 'at': {'1' * 400}}}]",
            "an invalid number for at",
        ),
        (SCRIPT + "GOLDEN = [{'expect': {}, 'body': '\\ud800'}]", "an invalid body"),
    ],
)
def test_a_script_that_could_not_run_is_refused_with_its_line(
    source: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        check_script(source)
    assert caught.value.field == "script"


def test_what_is_wrong_with_a_script_is_said_without_its_text() -> None:
    with pytest.raises(ConfigError) as caught:
        check_script("password = 'hunter2hunter2' !")
    assert "hunter2" not in str(caught.value) + str(caught.value.__notes__)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def transform(record)\n    pass", "line 1: this is not Python"),
        (SCRIPT, "has no function transform"),
        (
            "async def transform(record): pass",
            "line 1: transform must be a plain function",
        ),
        (
            "x = 1\ndef transform(a, b): pass",
            "line 2: transform must take one parameter",
        ),
        (
            "import requests\ndef transform(record): pass",
            "line 1: requests cannot be imported",
        ),
        ("def transform(record): pass\n#" + "x" * 65536, "longer than 64 KiB"),
    ],
)
def test_a_line_s_script_that_could_not_run_is_refused_with_its_line(
    source: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        check_transform(source)
    assert caught.value.field == "script"


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import requests\n", "line 1: requests cannot"),
        ("import hmac, os.path\n", "line 1: os cannot"),
        ("from http.client import HTTPSConnection\n", "line 1: http cannot"),
        ("import json\nimport urllib.request\n", "line 2: urllib.request cannot"),
        ("from urllib import request\n", "line 1: urllib.request cannot"),
        ("from . import json\n", "line 1: this module cannot"),
        ("def f():\n    if f:\n        import httpx\n", "line 3: httpx cannot"),
        ("import b\nimport requests\n", "line 1: this module cannot"),
        ("try:\n    import os\nexcept KeyError:\n    pass\n", "line 2: os cannot"),
        ("try:\n    import os\nfinally:\n    pass\n", "line 2: os cannot"),
        (
            "try:\n    import os\nexcept ImportError:\n    import jwt\n",
            "line 4: jwt cannot",
        ),
        ("with f():\n    import os\n", "line 2: os cannot"),
        ("x = " + "1 + " * 1200 + "1\nimport os\n", "line 2: os cannot"),
    ],
)
def test_an_import_that_no_script_can_have_is_found_by_its_line(
    source: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        check_imports(source + SCRIPT)
    assert (caught.value.field, caught.value.hint) == ("script", IMPORT_HINT)
    # what is kept already can still be read, and corrected
    check_script(source + SCRIPT)


@pytest.mark.parametrize(
    ("check", "source"),
    [
        (check_script, SCRIPT),
        (check_script, GOLDEN),
        (check_script, "def compute_auth_header(sync_line, /): return {}"),
        (
            check_transform,
            "import decimal\ndef transform(record):\n    return record\n",
        ),
        *((check_imports, f"import {name}\n") for name in OFFERED),
        (
            check_imports,
            (
                "from urllib import parse\nfrom cryptography.hazmat.primitives import"
                " hashes\n"
            ),
        ),
        # What may fail:
        (
            check_imports,
            "try:\n    import orjson as json\nexcept ImportError:\n    import json\n",
        ),
        (
            check_imports,
            (
                "try:\n    import orjson\nexcept (KeyError, ModuleNotFoundError):\n   "
                " pass\n"
            ),
        ),
        (check_imports, "try:\n    import orjson\nexcept:\n    pass\n"),
        (
            check_imports,
            (
                "import contextlib\nwith contextlib.suppress(ImportError):\n    import"
                " orjson\n"
            ),
        ),
        (check_imports, "import typing\nif typing.TYPE_CHECKING:\n    import orjson\n"),
    ],
)
def test_a_sound_script_is_taken_with_what_is_offered_and_what_may_fail(
    check: Callable[[str], None], source: str
) -> None:
    assert refusal(check, source) == ""


def test_the_name_of_an_unknown_module_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        check_imports("import hunter2hunter2.requests\n" + SCRIPT)
    assert "hunter2" not in str(caught.value) + str(caught.value.__notes__)


def test_what_scripts_are_told_to_import_is_what_their_workers_have() -> None:
    offered = {name.partition(".")[0] for name in OFFERED}
    assert offered == {root for root in preload.ROOTS if not root.startswith("_")}
    assert set(OFFERED) == {*preload._MODULES.split(), "cryptography"}


@pytest.mark.parametrize(
    ("source", "asks"),
    [(ASKING, True), (SCRIPT, False), (SCRIPT + "# get_secret_key()\n", False)],
)
def test_a_script_that_asks_for_its_secret_is_known_by_its_text(
    source: str, *, asks: bool
) -> None:
    assert asks_for_secret(source) == asks


def test_the_examples_of_a_script_are_read_without_running_it() -> None:
    found = list(examples(GOLDEN))
    assert [(e.secret, e.at, e.method, e.body) for e in found] == [
        ("made-up", 1_700_000_000.0, "POST", b"x")
    ]
    assert list(examples(SCRIPT)) == []


def test_two_scripts_have_two_fingerprints() -> None:
    assert fingerprint(SCRIPT) != fingerprint(GOLDEN)
    assert len(fingerprint(SCRIPT)) == 16


# ── on the way of a request ───────────────────────────────────────────────────────────


def test_a_script_s_headers_are_sent_and_it_sees_the_request() -> None:
    fake = world(
        secrets={"secret_key": "the-key"}, base_url="https://api.acme.example/v2"
    )
    fake.scripts.answer = lambda call: {
        "X-Signature": f"{call.method} {call.path} {call.query}"
    }
    fake.gateway.send("acme", "POST", "/orders", params={"page": 2}, data=b"body")
    assert sent(fake)["X-Signature"] == "POST /v2/orders page=2"
    call = fake.scripts.calls[0]
    assert (call.url, call.body) == (
        "https://api.acme.example/v2/orders?page=2",
        b"body",
    )
    assert (call.configuration, call.base_url) == (
        "acme",
        "https://api.acme.example/v2",
    )


def test_a_script_runs_anew_for_each_retry_and_each_replay() -> None:
    fake = world(limits__retries=2)
    fake.transport.responses = [Response(503), Response(503), Response(200)]
    numbers = iter("123")
    fake.scripts.answer = lambda _: {"X-Timestamp": next(numbers)}
    assert fake.gateway.send("acme", "GET", "/").status == 200
    seen = [h.value.reveal() for r, _ in fake.transport.sent for h in r.headers[-1:]]  # type: ignore[union-attr]
    assert seen == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("values", "secrets", "expected"),
    [
        (
            {"authentication_type": "basic", "username": "u"},
            {"password": "pass-word"},
            "pass-word",
        ),
        ({"authentication_type": "bearer"}, {"token": "to-ken-1"}, "to-ken-1"),
        ({}, {}, None),
    ],
)
def test_the_secret_of_a_script_is_the_key_or_what_the_type_has(
    values: dict[str, object], secrets: dict[str, str], expected: str | None
) -> None:
    fake = world(secrets=secrets, **values)
    fake.gateway.send("acme", "GET", "/")
    assert fake.scripts.calls[0].secret == (
        None if expected is None else Secret(expected)
    )


def test_a_secret_key_comes_before_the_password() -> None:
    fake = world(
        secrets={"password": "pass-word", "secret_key": "the-key"},
        authentication_type="basic",
        username="u",
    )
    registry = fake.ports.configurations
    text = (
        '[configuration.acme]\nbase_url = "https://api.acme.example"\nsecret_key ='
        ' "env:KEY"'
    )
    named = parse_document(text).drafts[0].configuration().secrets
    kept = replace(registry.get("acme"), secrets=named)
    registry.configurations["acme"] = kept  # type: ignore[attr-defined]
    fake.gateway.send("acme", "GET", "/")
    assert fake.scripts.calls[0].secret == Secret("the-key")
    assert "secret_key" in kept.needed_secrets()


@pytest.mark.parametrize(
    ("values", "needed"),
    [
        ({}, ["secret_key"]),
        ({"script": SCRIPT}, []),
        ({"script_enabled": False}, []),
        ({"authentication_type": "basic", "username": "u"}, ["password"]),
        ({"authentication_type": "bearer"}, ["token"]),
        (
            {
                "authentication_type": "bearer",
                "token_source": "oauth2",
                "oauth2__token_url": "https://api.acme.example/token",
                "oauth2__client_id": "erp",
            },
            ["client_secret", "secret_key"],
        ),
    ],
)
def test_a_secret_that_the_script_asks_for_is_needed_where_nothing_takes_its_place(
    values: dict[str, object], needed: list[str]
) -> None:
    assert configuration(**({"script": ASKING} | values)).needed_secrets() == needed


def test_a_test_without_the_script_s_secret_fails_where_secrets_are_looked_at() -> None:
    fake = world(script=ASKING)
    report = fake.gateway.test("acme")
    assert [(step.step, step.ok) for step in report.steps] == [
        ("configuration", True),
        ("secrets", False),
    ]
    assert report.error is not None
    assert (report.cause, report.error.field) == ("secret_missing", "secret_key")
    assert fake.scripts.calls == []


@pytest.mark.parametrize("values", [{"script_enabled": False}, {"script": ""}])
def test_a_script_that_is_off_or_empty_is_not_run(values: dict[str, object]) -> None:
    fake = world(**values)
    fake.gateway.send("acme", "GET", "/")
    assert fake.scripts.calls == []


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Bad\r\nX-Evil": "1"},
        {"X-Good": "a\r\nX-Evil: 1"},
        {"X-Good": "é"},
        {"": "1"},
        {"Host": "evil.example"},
        {"Content-Length": "5"},
        {f"X-{n}": "1" for n in range(1000)},
        {"X-Long": "x" * 9000},
    ],
)
def test_wrong_headers_are_a_format_error_and_nothing_is_sent(
    headers: dict[str, str],
) -> None:
    fake = world()
    fake.scripts.answer = lambda _: headers
    with pytest.raises(HeaderFormatError) as caught:
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []
    assert "evil" not in str(caught.value).lower()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("hOsT", "Host"),
        ("content-length", "Content-Length"),
        ("TRANSFER-ENCODING", "Transfer-Encoding"),
        ("te", "TE"),
        ("Proxy-hunter2hunter2", "Proxy-…"),
    ],
)
def test_a_header_of_the_connection_is_named_in_our_own_spelling(
    name: str, shown: str
) -> None:
    with pytest.raises(HeaderFormatError) as caught:
        headers_of((("X-First", Secret("1")), (name, Secret("1"))), None)
    message = f"the script returned the header {shown}, which belongs to the connection"
    assert (caught.value.message, caught.value.field) == (message, "script, header 2")
    assert "Remove it" in caught.value.hint
    assert name not in str(caught.value) + str(caught.value.__notes__)


@pytest.mark.parametrize("name", ["", "X Name hunter2", "X-Name:", "hunter2é"])
def test_a_name_that_is_none_is_explained_and_not_repeated(name: str) -> None:
    with pytest.raises(
        HeaderFormatError, match="is empty or has an invalid character"
    ) as caught:
        headers_of(((name, Secret("1")),), None)
    assert "letters, digits and hyphens" in caught.value.hint
    assert "hunter2" not in str(caught.value) + str(caught.value.__notes__)


def test_a_second_source_for_a_header_is_a_conflict() -> None:
    fake = world(
        authentication_type="basic", username="u", secrets={"password": "pass-word"}
    )
    fake.scripts.answer = lambda _: {"authorization": "mine"}
    with pytest.raises(HeaderConflict, match="authentication, script"):
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []


@pytest.mark.parametrize(
    "form", ["the-secret-key", "THE-SECRET-KEY", "7468652d7365637265742d6b6579"]
)
def test_the_secret_as_a_header_name_is_refused(form: str) -> None:
    with pytest.raises(HeaderFormatError) as caught:
        headers_of(((f"X-{form}", Secret("1")),), Secret("the-secret-key"))
    assert form.lower() not in str(caught.value).lower()


# ── parameters ────────────────────────────────────────────────────────────────────────


def test_parameters_of_a_script_come_last_in_order_and_percent_encoded() -> None:
    fake = world()
    fake.scripts.answer = lambda _: {
        "headers": {"X-Signed": "yes"},
        "query": {"b-ä": "1 +/~", "a": "x&y=z"},
    }
    fake.gateway.send("acme", "GET", "/orders?page=2")
    target = fake.transport.sent[-1][0].wire_target()
    assert isinstance(target, Secret)
    expected = "/orders?page=2&b-%C3%A4=1%20%2B%2F~&a=x%26y%3Dz"
    assert target.reveal() == expected
    assert sent(fake)["X-Signed"] == "yes"


def test_parameters_of_a_script_follow_a_path_without_a_query() -> None:
    fake = world()
    fake.scripts.answer = lambda _: {"query": {"sig": "abc"}}
    fake.gateway.send("acme", "GET", "/orders")
    target = fake.transport.sent[-1][0].wire_target()
    assert isinstance(target, Secret)
    assert target.reveal() == "/orders?sig=abc"


def test_parameters_of_a_script_are_masked_and_not_recorded() -> None:
    fake = world()
    fake.scripts.answer = lambda _: {"query": {"sig": "c2lnbmF0dXJl", "t": "17"}}
    preview = fake.gateway.preview("acme", "GET", "/orders")
    assert preview.url.endswith("/orders?sig=***&t=***")
    assert "c2lnbmF0dXJl" not in preview.curl()
    fake.gateway.send("acme", "GET", "/orders")
    assert "sig=" not in repr(fake.audit.events)
    assert "c2ln" not in repr(fake.audit.events)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/orders?sig=1", {}),
        (
            "/orders",
            {
                "query": (QueryParameter("sig", "", secret=True),),
                "secrets": {"query:sig": "the-row-secret"},
            },
        ),
        (
            "/orders",
            {
                "authentication_type": "bearer",
                "token_header": "query:sig",
                "secrets": {"token": "the-entered-token"},
            },
        ),
    ],
)
def test_a_parameter_of_a_script_that_is_there_already_is_a_conflict(
    path: str, values: dict[str, object]
) -> None:
    fake = world(**values)  # type: ignore[arg-type]
    fake.scripts.answer = lambda _: {"query": {"sig": "abc"}}
    with pytest.raises(ParameterConflict, match="by the script and by another source"):
        fake.gateway.send("acme", "GET", path)
    assert fake.transport.sent == []


@pytest.mark.parametrize(
    "query",
    [
        {"": "1"},
        {"hunter2\n": "1"},
        {"name": "hunter2\x00"},
        {"name": "x" * 9000},
        {f"p{number}": "1" for number in range(65)},
    ],
)
def test_wrong_parameters_are_refused_unrepeated_and_nothing_is_sent(
    query: dict[str, str],
) -> None:
    fake = world()
    fake.scripts.answer = lambda _: {"query": query}
    with pytest.raises(OutkeyError) as caught:
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []
    assert "hunter2" not in str(caught.value)


def test_the_secret_as_a_parameter_name_is_refused() -> None:
    result = ScriptResult((), (("x-the-secret-key", Secret("1")),))
    with pytest.raises(HeaderFormatError, match="secret as a parameter name"):
        script_parts(result, Secret("the-secret-key"))


def test_digest_does_not_cover_parameters_of_a_script() -> None:
    fake = world(
        authentication_type="digest", username="u", secrets={"password": "pass-word"}
    )
    fake.scripts.answer = lambda _: {"query": {"sig": "abc"}}
    with pytest.raises(ConfigError, match="Digest cannot cover"):
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []


def test_oauth_1_does_not_cover_parameters_of_a_script() -> None:
    fake = world(
        authentication_type="oauth1",
        oauth1__consumer_key="ck",
        secrets={"consumer_secret": "consumer-secret"},
    )
    fake.scripts.answer = lambda _: {"query": {"sig": "abc"}}
    with pytest.raises(ConfigError, match="cannot cover"):
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []


def test_a_redirect_that_repeats_the_script_s_parameters_is_followed() -> None:
    fake = world()
    numbers = iter("12345")
    fake.scripts.answer = lambda _: {"query": {"sig": next(numbers)}}
    location = ResponseHeaders((("Location", "/orders/?page=2&sig=1"),))
    fake.transport.answers = [Response(301, location), Response(200)]
    fake.gateway.send("acme", "GET", "/orders?page=2")
    target = fake.transport.sent[-1][0].wire_target()
    assert isinstance(target, Secret)
    assert target.reveal() == "/orders/?page=2&sig=2"


def test_a_script_sees_the_headers_of_other_sources_with_secrets_masked() -> None:
    fake = world(
        authentication_type="bearer",
        headers=(CustomHeader("X-Tenant", "seven", secret=False),),
        secrets={"token": "the-entered-token"},
    )
    fake.gateway.send("acme", "POST", "/", json={"a": 1}, headers={"X-Own": "mine"})
    headers = dict(fake.scripts.calls[0].headers)
    assert headers["Authorization"] == "***"
    assert (headers["X-Tenant"], headers["X-Own"]) == ("seven", "mine")
    assert headers["Content-Type"] == "application/json"
    assert fake.scripts.calls[0].body == b'{"a": 1}'


def test_a_preview_sees_the_same_headers_as_a_send() -> None:
    fake = world()
    fake.gateway.preview("acme", "GET", "/")
    fake.gateway.send("acme", "GET", "/")
    assert fake.scripts.calls[0].headers == fake.scripts.calls[1].headers


def test_parameters_of_a_script_cannot_be_lent() -> None:
    fake = world()
    fake.scripts.answer = lambda _: {"query": {"sig": "abc"}}
    with pytest.raises(ConfigError, match="cannot be lent"):
        fake.gateway.lend("acme", "GET", "https://api.acme.example/orders", [])


def test_a_test_counts_the_parameters_of_a_script() -> None:
    fake = world()
    fake.scripts.answer = lambda _: {"headers": {"A": "1"}, "query": {"b": "2"}}
    steps = {step.step: str(step.detail) for step in fake.gateway.test("acme").steps}
    assert steps["script"] == "1 header, 1 parameter"


def test_a_trial_has_the_lengths_of_parameters() -> None:
    fake = world()
    fake.scripts.answer = lambda _: {"query": {"sig": "ä23"}}
    assert trial(fake).query == (("sig", 4),)


@pytest.mark.parametrize(
    "expect",
    [
        "{'headers': {'a': 'b'}, 'other': {}}",
        "{'query': {'a': 1}}",
        "{'headers': {}, 'query': 7}",
        "'X-Signature: abc'",
    ],
)
def test_an_example_expects_texts_of_headers_and_query_only(expect: str) -> None:
    with pytest.raises(ConfigError, match="GOLDEN needs expect"):
        check_script(SCRIPT + f"GOLDEN = [{{'expect': {expect}}}]")


def test_an_example_may_expect_parameters() -> None:
    source = SCRIPT + "GOLDEN = [{'expect': {'query': {'sig': 'abc'}}}]"
    (example,) = examples(source)
    assert (example.expect, example.expect_query) == ({}, {"sig": "abc"})


def test_a_script_that_fails_sends_nothing() -> None:
    fake = world()

    def fail(_: object) -> dict[str, str]:
        raise ScriptFailed("the script raised ValueError in line 2")

    fake.scripts.answer = fail
    with pytest.raises(ScriptFailed):
        fake.gateway.send("acme", "GET", "/")
    assert fake.transport.sent == []
    report = fake.gateway.test("acme")
    assert (report.cause, report.steps[-1].step) == ("script_error", "script")


def test_a_body_that_is_too_large_for_a_script_is_refused() -> None:
    with pytest.raises(ScriptFailed):
        world().gateway.send("acme", "POST", "/", data=b"x" * (MAX_BODY + 1))


def test_the_preview_runs_the_script_and_masks_what_it_gives() -> None:
    fake = world()
    fake.scripts.answer = lambda _: {"X-Signature": "abc"}
    shown = fake.gateway.preview("acme").headers[-1]
    assert (shown.name, shown.value, shown.source) == ("X-Signature", "***", "script")


def test_a_preview_shows_the_date_and_the_key_id_of_a_script() -> None:
    source = SCRIPT + 'KEY_ID = "AK-0815-7"\n'
    fake = world(script=source)
    at = str(int(fake.clock.now()))
    fake.scripts.answer = lambda _: {
        "X-Date": at,
        "X-Key-Id": "AK-0815-7",
        "X-Signature": "c2lnbmF0dXJl",
        "X-Part": "7",
        "X-Secret": "hunter2hunter2",
    }
    shown = {row.name: row.value for row in fake.gateway.preview("acme").headers[-5:]}
    assert shown == {
        "X-Date": at,
        "X-Key-Id": "AK-0815-7",
        "X-Signature": "***",
        "X-Part": "***",
        "X-Secret": "***",
    }


def test_a_secret_that_is_also_part_of_the_script_is_masked_in_a_preview() -> None:
    source = SCRIPT + 'KEY_ID = "AK-0815-7"\n'
    fake = world(
        script=source, authentication_type="bearer", secrets={"token": "AK-0815-7"}
    )
    fake.scripts.answer = lambda _: {"X-Key": "AK-0815-7"}
    assert fake.gateway.preview("acme").headers[-1].value == "***"


def test_a_test_has_the_step_script() -> None:
    report = world().gateway.test("acme")
    assert [step.step for step in report.steps] == [
        "configuration",
        "secrets",
        "script",
        "connect",
        "request",
    ]


def test_lent_credentials_hold_the_script_s_headers() -> None:
    fake = world()
    fake.scripts.answer = lambda _: {"X-Signature": "abc"}
    loan = fake.gateway.lend("acme", "GET", "https://api.acme.example/orders", [])
    assert [header.name for header in loan.headers] == ["X-Signature"]


def test_a_script_that_nobody_vouched_for_gets_no_secret_and_sends_nothing() -> None:
    fake = world({SCRIPT_FACT: secret_digest("another").reveal()})
    with pytest.raises(ScriptFailed, match="changed outside of outkey"):
        fake.gateway.send("acme", "GET", "/")
    assert (fake.scripts.calls, fake.transport.sent) == ([], [])


# ── trying and keeping ────────────────────────────────────────────────────────────────


def test_a_trial_tells_names_and_lengths_and_stops_the_clock() -> None:
    fake = world()
    fake.scripts.answer = lambda call: {"X-Timestamp": str(int(call.at or 0))}
    tried = trial(fake, 1_700_000_000)
    assert (tried.ok, tried.headers) == (True, (("X-Timestamp", 10),))
    assert trial(fake).ok
    assert fake.scripts.calls[1].at == fake.clock.now()


@pytest.mark.parametrize("error", [ScriptFailed("no"), SecretMissing("none")])
def test_a_trial_that_fails_says_why(error: OutkeyError) -> None:
    fake = world()

    def fail(_: object) -> dict[str, str]:
        raise error

    fake.scripts.answer = fail
    tried = trial(fake)
    assert (tried.ok, tried.error) == (False, error)


def test_a_configuration_without_a_script_has_nothing_to_try() -> None:
    tried = trial(world(script=""))
    assert tried.error is not None
    assert tried.error.field == "script"


DOCUMENT = f"""
[configuration.acme]
base_url = "https://api.acme.example"
no_auth_reason = "public_api"
secret_key = "env:ACME_KEY"
script = '''
{GOLDEN}'''
"""


def test_a_script_is_kept_with_its_fingerprint_in_the_audit() -> None:
    office = Office()
    office.sender.scripts.answer = lambda _: {"X-Signature": "abc"}  # type: ignore[attr-defined]
    assert office.apply(DOCUMENT).created == ("acme",)
    kept = office.registry.get("acme")
    change = office.audit.events[0]
    assert isinstance(change, Change)
    assert change.key == f"script {fingerprint(kept.script)}"
    again = parse_document(render([kept], [])).drafts[0].configuration()
    assert again.script == kept.script


@pytest.mark.parametrize(
    "given", [{"X-Signature": "other"}, {}, {"X-Signature": "abc", "X": "1"}]
)
def test_an_example_that_gives_something_else_keeps_the_script_out(
    given: dict[str, str],
) -> None:
    office = Office()
    office.sender.scripts.answer = lambda _: given  # type: ignore[attr-defined]
    with pytest.raises(ScriptFailed, match="example 1"):
        office.apply(DOCUMENT)
    assert office.registry.all() == []


def test_a_script_that_imports_what_it_cannot_have_is_not_kept() -> None:
    office = Office()
    with pytest.raises(
        ConfigError, match="configuration acme: Script line 2: requests cannot"
    ):
        office.apply(DOCUMENT.replace("'''\ndef", "'''\n\nimport requests\ndef"))
    assert office.registry.all() == []
    assert office.sender.scripts.calls == []  # type: ignore[attr-defined]


def test_an_unchanged_script_is_not_proved_again() -> None:
    office = Office()
    office.sender.scripts.answer = lambda _: {"X-Signature": "abc"}  # type: ignore[attr-defined]
    office.apply(DOCUMENT)
    office.apply('[configuration.acme]\nnotes = "new"')
    assert len(office.sender.scripts.calls) == 1  # type: ignore[attr-defined]


def test_a_script_signs_each_request_that_a_renewed_token_is_sent_with() -> None:
    values = {
        "authentication_type": "bearer",
        "token_source": "oauth2",
        "oauth2__token_url": "https://api.acme.example/token",
        "oauth2__client_id": "erp",
    }
    fake = world(secrets={"client_secret": "the-client-secret"}, **values)
    numbers = iter("12")
    fake.scripts.answer = lambda _: {"X-Timestamp": next(numbers)}
    token = Response(200, body=b'{"access_token": "first-token"}')
    newer = Response(200, body=b'{"access_token": "second-token"}')
    fake.transport.responses = [token, Response(401), newer, Response(200)]
    assert fake.gateway.send("acme", "GET", "/").status == 200
    signed = [
        h
        for request, _ in fake.transport.sent
        for h in request.headers
        if h.name == "X-Timestamp"
    ]
    assert [h.value.reveal() for h in signed] == ["1", "2"]  # type: ignore[union-attr]
    assert fake.token("acme").status().state == "fresh"


def test_a_script_is_text() -> None:
    with pytest.raises(ConfigError) as caught:
        configuration(script=7)
    assert caught.value.field == "script"


def test_examples_that_take_too_long_keep_the_script_out() -> None:
    office = Office()

    def slow(_: object) -> dict[str, str]:
        office.sender.clock.advance(6)  # type: ignore[attr-defined]
        return {"X-Signature": "abc"}

    office.sender.scripts.answer = slow  # type: ignore[attr-defined]
    twice = DOCUMENT.replace(
        "GOLDEN = [{", "GOLDEN = [{'expect': {'X-Signature': 'abc'}}, {"
    )
    with pytest.raises(ScriptFailed, match="take longer than 5 s"):
        office.apply(twice)
    assert office.registry.all() == []


def test_one_header_in_two_spellings_is_refused_without_its_name() -> None:
    with pytest.raises(HeaderFormatError, match="twice") as refused:
        headers_of((("X-Chosen", Secret("a")), ("x-chosen", Secret("b"))), None)
    assert "chosen" not in str(refused.value).lower()


def test_the_seal_of_a_script_goes_with_the_script() -> None:
    office = Office()
    office.sender.scripts.answer = lambda _: {"X-Signature": "abc"}  # type: ignore[attr-defined]
    office.apply(DOCUMENT)
    saved = office.registry.get("acme")
    assert office.secrets.open(saved, SCRIPT_FACT) == secret_digest(saved.script)
    office.apply('[configuration.acme]\nscript = ""')
    with pytest.raises(SecretMissing):
        office.secrets.open(office.registry.get("acme"), SCRIPT_FACT)


class SavedScript:
    """Secrets that vouch for one script, and count how often they are asked."""

    def __init__(self, script: str) -> None:
        self.script = script
        self.asked = 0

    def open(
        self, configuration: Configuration, field: str, reads: object = None
    ) -> Secret:
        assert field == SCRIPT_FACT
        self.asked += 1
        return secret_digest(self.script)

    def refuse_changed_settings(self, configuration: Configuration) -> None:
        """Refuse nothing."""


def test_a_script_is_compared_with_its_voucher_once_for_each_configuration() -> None:
    saved = SavedScript(SCRIPT)
    context = replace(world().sender.context, secrets=saved)
    stored = replace(configuration(script=SCRIPT), record="r1")
    assert is_vouched(context, stored)
    assert is_vouched(context, stored)
    assert saved.asked == 1
    assert is_vouched(context, replace(stored, notes="edited"))
    assert saved.asked == 2


def test_a_script_that_is_changed_after_it_was_vouched_for_is_refused() -> None:
    context = replace(world().sender.context, secrets=SavedScript(SCRIPT))
    stored = replace(configuration(script=SCRIPT), record="r1")
    assert is_vouched(context, stored)
    changed = replace(stored, script=ASKING)
    assert not is_vouched(context, changed)
    assert not is_vouched(context, changed)


def test_what_other_secrets_vouched_for_is_compared_again() -> None:
    context = replace(world().sender.context, secrets=SavedScript(SCRIPT))
    stored = replace(configuration(script=SCRIPT), record="r1")
    assert is_vouched(context, stored)
    assert not is_vouched(replace(context, secrets=SavedScript(ASKING)), stored)


def test_the_memory_of_vouched_scripts_is_bounded() -> None:
    memory = VouchedScripts()
    saved = SavedScript(SCRIPT)
    made = configuration(script=SCRIPT)
    first, *rest = (replace(made, name=f"n{at}") for at in range(1025))
    memory.add(saved, first)
    assert memory.has(saved, first)
    for other in rest:
        memory.add(saved, other)
    assert not memory.has(saved, first)
    assert memory.has(saved, rest[-1])


def test_a_call_shows_neither_its_script_nor_its_body() -> None:
    call = ScriptCall("acme", "the-source", Secret("the-secret"), body=b"the-body")
    assert repr(call) == "ScriptCall(acme, compute_auth_header)"
