"""`outkey spar drill`: its output for users and scripts, and what it leaves alone."""

import signal
import subprocess
import sys

import pytest

from cli.conftest import Terminal
from outkey.spar import Spar

QUICK = (
    "--scenario",
    "works",
    "--scenario",
    "flapping",
    "--scenario",
    "redirect-elsewhere",
)


def test_a_drill_asks_no_real_address_opens_no_secret_and_leaves_no_trace(
    ready: Terminal, spar: Spar
) -> None:
    before = [ready(*command).out for command in (("show", "acme"), ("audit", "list"))]
    # Without its key the home is sealed: a drill that opened a secret would fail here.
    done = ready("spar", "drill", "acme", *QUICK, "--json", OUTKEY_KEY="A" * 43 + "=")
    assert (done.code, done.err) == (0, "")
    assert spar.journal == []
    assert [
        ready(*command).out for command in (("show", "acme"), ("audit", "list"))
    ] == before


def test_the_json_of_a_drill_has_this_shape(ready: Terminal) -> None:
    report = ready("spar", "drill", "acme", *QUICK, "--json").json
    scenarios = report.pop("scenarios")
    assert report == {
        "configuration": "acme",
        "ok": True,
        "speed": 20.0,
        "verdicts": {"ok": 2, "warn": 1, "bad": 0},
        "not_exercised": [],
    }
    assert [one["id"] for one in scenarios] == [
        "works",
        "flapping",
        "redirect-elsewhere",
    ]
    flapping = scenarios[1]
    assert flapping.pop("seconds") < 10
    assert flapping.pop("meaning").endswith(
        "set Retries (limits.retries) to 1 or more."
    )
    assert flapping == {
        "id": "flapping",
        "played": "503 once, then all is well.",
        "outcomes": ["server_error"],
        "status": 503,
        "requests": {
            "authenticated": 1,
            "without_credentials": 0,
            "elsewhere": 0,
            "token": 0,
        },
        "verdict": "warn",
    }


def test_a_person_gets_a_table_and_what_it_rests_on(ready: Terminal) -> None:
    done = ready("spar", "drill", "acme", *QUICK)
    assert done.code == 0
    for part in (
        "Credentials stay where they belong.",
        "2 ok, 1 warn, 0 bad",
        "Played 20 times as fast",
        "nothing was stored or recorded in the audit",
    ):
        assert part in done.out


def test_what_is_bad_is_exit_code_1(
    ready: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    from outkey.hosts.cli.operating import spar as commands
    from outkey.sending.core.configuration.configuration import build

    class Here:
        class registry:  # noqa: N801 - stands in for an attribute
            @staticmethod
            def get(name: str) -> object:
                return build(
                    name, {"base_url": "https://x.example", "limits.retries": 1}
                )

    monkeypatch.setattr(commands, "open_application", Here)
    monkeypatch.setattr(
        "outkey.sending.engine.exchange.exchange._RETRIED", frozenset({500})
    )
    assert commands.drill("acme", scenario=["down"], as_json=True) == 1
    assert commands.drill("acme", scenario=["works"], as_json=True) == 0


def test_what_was_not_exercised_is_printed(ready: Terminal) -> None:
    table = '[configuration.acme.csrf]\npath = "/token"\n'
    assert ready("apply", "-", stdin=table).code == 0
    done = ready("spar", "drill", "acme", "--scenario", "works")
    assert done.code == 0
    assert "Not exercised: The CSRF token: the copy fetches and sends none." in done.out


def test_scenarios_are_listed_for_all_and_for_one(ready: Terminal) -> None:
    everything = ready("spar", "drill", "--list", "--json").json
    of_acme = ready("spar", "drill", "acme", "--list", "--json").json
    assert set(everything[0]) == {"id", "played"}
    ids = {one["id"] for one in everything} - {one["id"] for one in of_acme}
    assert {"token-500", "token-rotation", "token-renewed"} <= ids
    assert "wrong-credentials" in ready("spar", "drill", "acme", "--list").out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), "configuration"),
        (("nobody",), "unknown_configuration"),
        (("acme", "--scenario", "sesame"), "configuration"),
        (("acme", "--scenario", "token-500"), "configuration"),
    ],
)
def test_a_wrong_call_is_refused_without_repeating_it(
    ready: Terminal, arguments: tuple[str, ...], code: str
) -> None:
    done = ready("spar", "drill", *arguments, "--json")
    assert done.code == 2
    assert done.json["error"]["code"] == code
    if "--scenario" in arguments:
        assert done.json["error"]["hint"].endswith("outkey spar drill acme --list")
    assert "sesame" not in done.out + done.err


def test_spar_without_a_command_serves_until_it_is_stopped(outkey: Terminal) -> None:
    command = [sys.executable, "-m", "outkey.hosts.cli.main", "spar", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=outkey.environment
    ) as process:
        assert process.stdout is not None
        greeting = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=30)
        finally:
            process.kill()  # or leaving would wait for ever
    assert greeting.startswith("The sparring provider is running.")
    assert process.returncode == 0
    assert not outkey.home.exists()
