"""Logins in steps and CSRF tokens as an operator uses them, with the provider."""

import json
import re
from collections.abc import Iterator

import pytest

from cli.conftest import Terminal
from cli.test_token_processes import POINTS, RENEWAL, output_of, race, start
from outkey.spar import Spar
from outkey.spar.logins import PASSWORD, USERNAME

# Between the response and its storing; the others with --full.
QUICK_POINTS = ("after sending", "after asking")
FINISH = """
[[configuration.crm.login.steps]]
path = "/login/steps/finish{query}"
format = "{format}"
body = '''{body}'''
{take}
"""
FORM = "user={username}&pass={password}&nonce={nonce}"
XML = (
    "<login><user>{username}</user><pass>{password}</pass><nonce>{nonce}</nonce>"
    "</login>"
)


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def crm(spar: Spar, *login: str, start: str = "", finish: str = "") -> str:
    """Return a document with a login in steps."""
    start = start or (
        "[[configuration.crm.login.steps]]\n"
        f'method = "GET"\nurl = "{spar.elsewhere}/login/steps/start"\n'
        'take = { nonce = "header:X-Nonce" }\n'
    )
    return "\n".join(
        [
            "[configuration.crm]",
            f'base_url = "{spar.url}"',
            'network = "internal"',
            'authentication_type = "bearer"',
            'token_source = "login"',
            f'username = "{USERNAME}"',
            "limits = { retries = 0 }",
            'verification = { test_path = "/login/api" }',
            "[configuration.crm.login]",
            *login,
            start,
            finish or last_step(),
        ]
    )


def last_step(
    body: str = FORM,
    form: str = "form",
    take: str = 'take = { session = "data.access_token" }',
    query: str = "",
) -> str:
    return (
        FINISH.replace("{query}", query)
        .replace("{format}", form)
        .replace("{body}", body)
        .replace("{take}", take)
    )


def odata(spar: Spar, path: str = "/csrf/odata") -> str:
    return (
        f'[configuration.sap]\nbase_url = "{spar.url}"\nnetwork = "internal"\n'
        f'authentication_type = "basic"\nusername = "{USERNAME}"\n'
        'limits = { retries = 0 }\nverification = { test_path = "/csrf/odata" }\n'
        f'[configuration.sap.csrf]\npath = "{path}"\n'
    )


def apply(outkey: Terminal, text: str, name: str = "crm") -> None:
    applied = outkey("apply", "-", stdin=text)
    assert applied.code == 0, applied.err
    assert outkey("secret", "set", name, "password", stdin=PASSWORD).code == 0


def test_a_login_begins_at_another_origin_and_ends_at_the_api(
    outkey: Terminal, spar: Spar
) -> None:
    apply(outkey, crm(spar, 'token = "{session}"'))
    assert outkey("test", "crm").code == 0
    sent = outkey("request", "crm", "GET", "/login/api")
    assert sent.code == 0, sent.err
    (start,) = [entry for entry in spar.journal if entry.server == "elsewhere"]
    names = {name.lower() for name, _ in start.headers}
    assert names == {"host", "user-agent", "accept", "accept-encoding"}
    exported = outkey("export").out
    assert exported.count("[[configuration.crm.login.steps]]") == 2
    assert outkey("apply", "-", stdin=exported).code == 0
    state = json.loads(outkey("token", "status", "crm", "--json").out)["state"]
    assert state == "fresh"
    audit = outkey("audit", "list", "--json").out
    assert PASSWORD not in audit + exported


@pytest.mark.parametrize(
    ("finish", "login"),
    [
        (
            last_step(XML, "xml", 'take = { session = "session.token" }', "?style=xml"),
            ('token = "{session}"',),
        ),
        (
            last_step(FORM, take="", query="?style=cookies"),
            ("cookies = true",),
        ),
        (
            last_step(
                '{"user": "{username}", "pass": "{password}", "nonce": "{nonce}"}',
                "json",
                take="",
            ),
            ('token = "data.access_token"',),
        ),
    ],
    ids=["XML", "cookies", "JSON"],
)
def test_each_format_logs_in(
    outkey: Terminal, spar: Spar, finish: str, login: tuple[str, ...]
) -> None:
    apply(outkey, crm(spar, *login, finish=finish))
    assert outkey("test", "crm").code == 0
    spar.authorization.expire_all()
    assert outkey("request", "crm", "POST", "/login/api").code == 0


@pytest.mark.parametrize(
    ("finish", "code", "cause"),
    [
        (
            last_step(FORM.replace("{password}", "{username}&key={password}")),
            1,
            "invalid_credentials",
        ),
        (last_step(take='take = { session = "data.nothing" }'), 1, "token_endpoint"),
        (last_step(take='take = { session = "cookie:none" }'), 1, "token_endpoint"),
        (
            last_step().replace("/login/steps/finish", "/login/odd/redirect"),
            3,
            "redirect_blocked",
        ),
        (
            last_step().replace("/login/steps/finish", "/login/odd/html"),
            1,
            "token_endpoint",
        ),
        (
            last_step().replace("/login/steps/finish", "/nothing"),
            1,
            "token_endpoint",
        ),
    ],
)
def test_a_step_that_fails_has_its_exit_code(
    outkey: Terminal, spar: Spar, finish: str, code: int, cause: str
) -> None:
    apply(outkey, crm(spar, 'token = "{session}"', finish=finish))
    tested = outkey("test", "crm", "--json")
    report = json.loads(tested.out)
    assert report["cause"] == cause
    sent = outkey("request", "crm", "GET", "/login/api")
    assert sent.code == code
    assert PASSWORD not in tested.out + tested.err + sent.err


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('[[configuration.crm.login.steps]]\npath = "/a"\nwhat = 1', "what"),
        ('[[configuration.crm.login.steps]]\npath = "/a"\nbody = "{b}"', "body"),
        ('[[configuration.crm.login.steps]]\nurl = "http://a b"', "url"),
        ('[[configuration.crm.login.steps]]\npath = "/a"\nformat = "csv"', "format"),
    ],
)
def test_bad_values_are_refused_with_the_field(
    outkey: Terminal, spar: Spar, text: str, field: str
) -> None:
    document = crm(spar, 'token = "{session}"', start=text)
    applied = outkey("apply", "-", "--json", stdin=document)
    assert applied.code == 2
    error = json.loads(applied.out)["error"]
    assert error["code"] == "configuration"
    assert error["field"].endswith(f"login.steps[0].{field}")


def test_writes_have_a_csrf_token_and_an_expired_one_is_replaced(
    outkey: Terminal, spar: Spar
) -> None:
    apply(outkey, odata(spar), "sap")
    assert outkey("test", "sap").code == 0
    for _ in range(2):
        sent = outkey("request", "sap", "POST", "/csrf/odata", "--data", "{}")
        assert sent.code == 0, sent.err
    assert fetches(spar) == 1  # shared by the two processes
    assert outkey("request", "sap", "GET", "/csrf/expire").code == 0
    assert outkey("request", "sap", "DELETE", "/csrf/odata").code == 0
    assert fetches(spar) == 2
    assert (
        json.loads(outkey("token", "status", "sap", "--json").out)["state"] == "fresh"
    )
    assert outkey("token", "forget", "sap").code == 0
    assert json.loads(outkey("token", "status", "sap", "--json").out)["state"] == "none"
    shown = outkey("preview", "sap", "POST", "/csrf/odata").out
    assert re.search(r"X-CSRF-Token +\*\*\*", shown)


def fetches(spar: Spar) -> int:
    return sum(entry.values("X-CSRF-Token") == ["Fetch"] for entry in spar.journal)


@pytest.mark.parametrize(
    ("path", "code"), [("/csrf/odata?none=1", 1), ("/nothing", 1), ("/basic", 1)]
)
def test_without_a_csrf_token_nothing_is_written(
    outkey: Terminal, spar: Spar, path: str, code: int
) -> None:
    apply(outkey, odata(spar, path), "sap")
    sent = outkey("request", "sap", "POST", "/csrf/odata", "--data", "{}", "--json")
    assert sent.code == code
    assert json.loads(sent.out)["error"]["field"] == "csrf.path"
    assert not [entry for entry in spar.journal if entry.method == "POST"]


# ── many processes, and kills ─────────────────────────────────────────────────────────


def targets(spar: Spar) -> list[str]:
    return [entry.path for entry in spar.journal]


@pytest.mark.parametrize("processes", [2, pytest.param(8, marks=pytest.mark.full)])
def test_many_processes_log_in_exactly_once(
    outkey: Terminal, spar: Spar, processes: int
) -> None:
    document = crm(spar, 'token = "{session}"').replace(".crm", ".acme")
    apply(outkey, document, "acme")
    sent = race(outkey, "/login/api", processes=processes, threads=25)
    assert sent == {200: processes * 25}
    assert targets(spar).count("/login/steps/start") == 1
    assert targets(spar).count("/login/steps/finish") == 1


@pytest.mark.full
def test_many_processes_fetch_one_csrf_token(outkey: Terminal, spar: Spar) -> None:
    apply(outkey, odata(spar).replace(".sap", ".acme"), "acme")
    sent = race(outkey, "/csrf/odata", "POST", processes=8, threads=25)
    assert sent == {201: 200}
    assert fetches(spar) == 1


@pytest.mark.parametrize(
    "point",
    [
        point if point in QUICK_POINTS else pytest.param(point, marks=pytest.mark.full)
        for point in POINTS
    ],
)
def test_a_killed_login_in_steps_is_repeated(
    point: str, outkey: Terminal, spar: Spar
) -> None:
    document = crm(spar, 'token = "{session}"').replace(".crm", ".acme")
    apply(outkey, document, "acme")
    killed = start(outkey, RENEWAL, point, "SIGKILL", "1", "/login/api")
    assert output_of(killed, outkey.canary) == ""
    again = start(outkey, RENEWAL, "", "SIGKILL", "1", "/login/api")
    assert output_of(again, outkey.canary) == "200"
    assert outkey("audit", "verify").code == 0
