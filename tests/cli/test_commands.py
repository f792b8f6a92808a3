"""What each command does, prints and returns."""

import json
import re
import stat
from pathlib import Path

import pytest

from cli.conftest import Terminal
from outkey.spar import Spar
from outkey.testing.canary import Canaries
from programs import assert_program_passes

WOULD_BE_CREATED = """\
would be created: a
  base_url             https://a.example
  authentication_type  none
  no_auth_reason       public_api
"""


def test_first_use_makes_a_home_for_its_owner_only(
    outkey: Terminal, document: str
) -> None:
    outkey("apply", document)
    outkey("secret", "set", "acme", "token", stdin="x")
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in outkey.home.rglob("*")}
    assert modes
    for path, mode in modes.items():
        assert mode == (0o700 if path.is_dir() else 0o600), path.name


@pytest.mark.parametrize(
    ("arguments", "dumpable"), [((), "1 1"), (("request", "acme", "/bearer"), "1 0")]
)
def test_a_command_cannot_be_dumped_and_a_program_with_the_library_can(
    ready: Terminal, arguments: tuple[str, ...], dumpable: str
) -> None:
    done = assert_program_passes("cli/is_dumpable", ready.home, *arguments)
    assert done.stdout.endswith(f"{dumpable}\n")


def test_apply_says_what_changed_and_what_is_missing(
    outkey: Terminal, document: str
) -> None:
    first = outkey("apply", document, "--json")
    assert first.code == 0
    assert (first.json["created"], first.json["unchanged"]) == (["acme", "shop"], [])
    missing = {
        (f["configuration"], f["field"])
        for f in first.json["findings"]
        if f["id"][0] == "E"
    }
    assert missing == {
        ("acme", "token"),
        ("acme", "header:X-API-Key"),
        ("shop", "password"),
    }
    again = outkey("apply", document)
    assert again.out == "unchanged: acme\nunchanged: shop\n"
    assert "warning shop.password: the environment variable SHOP_PASSWORD" in again.err


@pytest.mark.parametrize(
    ("text", "exit_code", "code"),
    [
        ('base_url = "http://bad.example"', 3, "egress_denied"),
        ('base_url = "https://[::ffff:169.254.169.254]"', 3, "egress_denied"),
        (
            'base_url = "https://bad.example"\nauthentication_type = "none"',
            3,
            "authentication_required",
        ),
        (
            'base_url = "https://bad.example"\nheaders = [{ key = "Authorization" }]',
            2,
            "header_conflict",
        ),
    ],
)
@pytest.mark.parametrize("option", ["--json", "--dry-run"])
def test_apply_saves_nothing_where_something_can_never_be_sent(
    outkey: Terminal, document: str, text: str, exit_code: int, code: str, option: str
) -> None:
    if "authentication_type" not in text:
        text += '\nauthentication_type = "bearer"'
    text = Path(document).read_text() + f"[configuration.bad]\n{text}\n"
    refused = outkey("apply", "-", option, stdin=text)
    assert refused.code == exit_code
    if option == "--json":
        assert refused.json["error"]["code"] == code
        assert refused.json["error"]["message"].startswith("configuration bad: ")
    else:
        assert f"error[{code}]: configuration bad: " in refused.err
        assert refused.out == ""
    assert outkey("list", "--json").json == []


def test_an_api_key_in_a_header_needs_no_reason(outkey: Terminal) -> None:
    text = (
        '[configuration.a]\nbase_url = "https://a.example"\nheaders = [{ key ='
        ' "X-API-Key" }]'
    )
    applied = outkey("apply", "-", "--json", stdin=text)
    assert (applied.code, applied.json["created"]) == (0, ["a"])
    assert [(f["id"], f["level"]) for f in applied.json["findings"]] == [
        ("E-secret_missing", "warning")
    ]


def test_strict_saves_nothing_where_there_is_a_warning(
    outkey: Terminal, document: str
) -> None:
    refused = outkey("apply", document, "--strict", "--json")
    assert refused.code == 2
    assert refused.json["error"]["code"] == "configuration"
    assert {f["field"] for f in refused.json["findings"]} >= {"token", "password"}
    assert outkey("list", "--json").json == []
    shown = outkey("apply", document, "--strict")
    assert (shown.code, shown.out) == (2, "")
    assert "warning shop.password: " in shown.err
    assert "error[configuration]: nothing was saved because of" in shown.err
    text = (
        '[configuration.a]\nbase_url = "https://a.example"\nno_auth_reason ='
        ' "public_api"'
    )
    tried = outkey("apply", "-", "--strict", "--dry-run", stdin=text)
    assert tried.out == WOULD_BE_CREATED
    assert outkey("list", "--json").json == []
    done = outkey("apply", "-", "--strict", stdin=text)
    assert (done.code, done.out) == (0, "created: a\n")
    assert [row["name"] for row in outkey("list", "--json").json] == ["a"]


def test_apply_reads_standard_input_and_a_dry_run_changes_nothing(
    outkey: Terminal,
) -> None:
    text = (
        '[configuration.a]\nbase_url = "https://a.example"\nno_auth_reason ='
        ' "public_api"'
    )
    assert outkey("apply", "-", "--dry-run", stdin=text).out == WOULD_BE_CREATED
    assert outkey("list", "--json").json == []
    assert outkey("apply", "-", stdin=text).out == "created: a\n"


def test_a_stored_secret_is_sent_and_never_shown(
    outkey: Terminal, document: str, spar: Spar, canary: Canaries
) -> None:
    outkey("apply", document)
    token, key = canary("token"), canary("key")
    done = outkey("secret", "set", "acme", "token", stdin=token + "\n")
    assert done.out == f"set: acme token, to be sent to {spar.url}\n"
    outkey("secret", "set", "acme", "header:X-API-Key", stdin=key)
    assert outkey("request", "acme", "POST", "/echo", "--data", "x").code == 0
    (arrival,) = spar.journal
    assert arrival.values("Authorization") == [f"Bearer {token}"]
    assert arrival.values("X-API-Key") == [key]
    for command in (
        ("list",),
        ("show", "acme"),
        ("show", "acme", "--json"),
        ("preview", "acme"),
        ("preview", "acme", "--json"),
        ("keys", "status"),
        ("audit", "verify"),
    ):
        assert outkey(*command).code == 0


def test_an_untouched_apply_keeps_a_secret(ready: Terminal, document: str) -> None:
    ready("apply", document)
    assert ready("request", "acme", "/bearer").out == '{"token": "accepted"}'


def test_secrets_that_the_api_echoes_are_masked_unless_asked_for(
    outkey: Terminal, document: str, canary: Canaries, spar: Spar
) -> None:
    outkey("apply", document)
    token = canary.token()
    outkey("secret", "set", "acme", "token", stdin=token)
    outkey("secret", "set", "acme", "header:X-API-Key", stdin="k")
    done = outkey("request", "acme", f"/status/200/{token}", "--json")
    assert done.code == 0
    missing = outkey("request", "acme", f"/nothing-{token}")
    assert missing.code == 1
    assert "no such scene" in missing.out


def test_preview_shows_sources_and_masks(outkey: Terminal, document: str) -> None:
    outkey("apply", document)
    outkey("secret", "set", "acme", "token", stdin="x")
    outkey("secret", "set", "acme", "header:X-API-Key", stdin="k")
    shown = outkey("preview", "acme", "put", "/orders", "--json").json
    assert (shown["method"], shown["url"][-7:]) == ("PUT", "/orders")
    assert {
        "name": "Authorization",
        "value": "Bearer ***",
        "source": "authentication",
    } in shown["headers"]
    assert {"name": "X-Tenant", "value": "7", "source": "header row"} in shown[
        "headers"
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("request", "acme", "/bearer"), 0, ""),
        (("request", "acme", "/bearer/expired"), 1, "token_expired"),
        (("request", "acme", "/forbidden"), 1, "insufficient_permissions"),
        (("request", "acme", "/huge"), 1, "response_too_large"),
        (("request", "acme", "/redirect/elsewhere"), 3, "redirect_blocked"),
        (("request", "nobody", "/"), 2, "unknown_configuration"),
        (("request", "shop", "/"), 2, "secret_missing"),
        (("request", "acme", "https://evil.example/"), 2, "configuration"),
        (("request", "acme", "/", "--header", "Authorization:x"), 2, "header_conflict"),
        (("request", "acme", "/", "--header", "no colon"), 2, "configuration"),
        (("request", "acme", "GET", "/", "hunter2"), 2, "configuration"),
        (("request", "acme"), 2, "configuration"),
        (("request", "acme", "/", "--data", "@/nowhere/hunter2"), 2, "configuration"),
        (("show", "nobody"), 2, "unknown_configuration"),
        (("delete", "nobody", "--yes"), 2, "unknown_configuration"),
        (("delete", "acme"), 2, "configuration"),
        (("secret", "set", "acme", "nonsense"), 2, "configuration"),
        (("secret", "set", "acme", "token", "hunter2"), 2, "configuration"),
        (("secret", "set", "acme", "token", "--from", "hunter2"), 2, "configuration"),
        (("secret", "set", "acme", "token", "--value", "hunter2"), 2, "configuration"),
        (("apply", "/nowhere"), 2, "configuration"),
        (("nonsense",), 2, "configuration"),
    ],
)
def test_each_ending_has_its_exit_code_and_error_in_both_forms(
    ready: Terminal, arguments: tuple[str, ...], code: int, error: str
) -> None:
    done = ready(*arguments)
    assert done.code == code
    assert error in done.err
    assert "hunter2" not in done.out + done.err
    assert "Traceback" not in done.err


def test_with_json_an_error_is_one_document_on_stdout(outkey: Terminal) -> None:
    done = outkey("show", "nobody", "--json")
    assert done.json["error"]["code"] == "unknown_configuration"
    assert set(done.json["error"]) == {"code", "message", "hint", "field"}
    assert done.err == ""


def test_a_reference_is_set_and_shown_as_a_reference(
    outkey: Terminal, document: str
) -> None:
    outkey("apply", document)
    outkey("secret", "set", "acme", "token", "--from", "env:ACME_TOKEN")
    outkey("secret", "set", "acme", "header:X-API-Key", stdin="k")
    shown = outkey("show", "acme", "--json").json
    assert shown["token"] == {
        "set": True,
        "set_at": None,
        "reference": "env:ACME_TOKEN",
    }
    assert outkey("request", "acme", "/bearer").code == 2
    assert outkey("request", "acme", "/bearer", ACME_TOKEN="spar-token").code == 0


def test_extra_parameters_are_shown_whatever_they_are_called(outkey: Terminal) -> None:
    text = (
        '[configuration.a]\nbase_url = "https://a.example"\nno_auth_reason ='
        ' "public_api"\n[configuration.a.oauth2]\nextra = { set = "x", reference ='
        ' "y" }'
    )
    assert outkey("apply", "-", stdin=text).code == 0
    shown = outkey("show", "a")
    assert (shown.code, "set = x, reference = y" in shown.out) == (0, True)
    extra = {"set": "x", "reference": "y"}
    assert outkey("show", "a", "--json").json["oauth2"]["extra"] == extra


def test_deleting_forgets_everything(
    outkey: Terminal, document: str, canary: Canaries
) -> None:
    outkey("apply", document)
    outkey("secret", "set", "acme", "token", stdin=canary("token"))
    assert outkey("delete", "acme", "--yes").out == "deleted: acme\n"
    assert [row["name"] for row in outkey("list", "--json").json] == ["shop"]


def test_without_its_key_an_installation_is_sealed_and_readable(
    ready: Terminal, spar: Spar
) -> None:
    key = ready.home / "config" / "key"
    right = key.read_text()
    for broken in (None, "primary AAAA\n", "damaged"):
        if broken is None:
            key.unlink()
        else:
            key.write_text(broken)
            key.chmod(0o600)
        spar.clear()
        assert ready("request", "acme", "/bearer").code == 4
        assert ready("secret", "set", "acme", "token", stdin="new").code == 4
        assert ready("keys", "status", "--json").code == 4
        assert len(ready("list", "--json").json) == 2
        assert spar.journal == []
    key.write_text(right)
    key.chmod(0o644)
    assert ready("request", "acme", "/bearer").code == 4
    key.chmod(0o600)
    assert ready("request", "acme", "/bearer").code == 0
    other = "primary " + "A" * 43 + "=\n"
    assert ready("request", "acme", "/bearer", OUTKEY_KEY=other).code == 2


def test_a_test_reports_steps_cause_and_remedy(ready: Terminal, spar: Spar) -> None:
    works = ready("test", "acme", "--json")
    assert works.code == 0
    assert set(works.json) == {
        "configuration",
        "ok",
        "steps",
        "status",
        "cause",
        "certainty",
        "remedy",
        "findings",
    }
    assert [step["step"] for step in works.json["steps"]] == [
        "configuration",
        "secrets",
        "connect",
        "request",
    ]
    ready(
        "apply",
        "-",
        stdin='[configuration.acme]\nverification = { test_path = "/basic" }',
    )
    wrong = ready("test", "acme")
    assert wrong.code == 1
    assert "cause: header_format" in wrong.out
    missing = ready("test", "shop", "--json")
    assert (missing.code, missing.json["cause"]) == (2, "secret_missing")
    ready(
        "apply",
        "-",
        stdin='[configuration.acme]\nbase_url = "https://elsewhere.example"',
    )
    moved = ready("test", "acme")
    assert (
        moved.code,
        "cause: configuration (secret_rebind_required)" in moved.out,
    ) == (2, True)
    assert "outkey secret set acme token" in moved.err


def test_a_fix_is_offered_made_and_told_what_it_leaves_to_enter(
    ready: Terminal,
) -> None:
    ready(
        "apply",
        "-",
        stdin='[configuration.acme]\nverification = { test_path = "/basic" }',
    )
    first = ready("test", "acme", "--json").json["findings"][0]
    assert set(first) == {"id", "level", "message", "hint", "configuration", "field"}
    assert (first["id"], first["level"]) == ("wrong-scheme", "error")
    assert first["message"].startswith(
        "The API asks for another scheme: WWW-Authenticate"
    )
    assert first["hint"].endswith(
        "Switch Authentication Type to Basic: outkey test acme --fix"
    )
    fixed = ready("test", "acme", "--fix", "--yes", "--json")
    assert (fixed.code, fixed.json["cause"]) == (2, "secret_missing")
    hints = {finding["id"]: finding["hint"] for finding in fixed.json["findings"]}
    assert hints["E-secret_missing"].endswith("outkey secret set acme password")
    assert "username in [configuration.acme]" in hints["W002"]
    again = ready("test", "acme", "--fix")
    assert (
        again.code,
        again.out.count("outkey cannot fix this itself"),
    ) == (2, 1)


def test_an_answer_to_everybody_is_no_proof(ready: Terminal) -> None:
    ready(
        "apply",
        "-",
        stdin='[configuration.acme]\nverification = { test_path = "/echo" }',
    )
    done = ready("test", "acme")
    assert done.code == 0
    assert "acme responds, but the test proves nothing: " in done.out
    assert "acme works" not in done.out


def test_what_is_exported_holds_no_secret_and_can_be_applied_elsewhere(
    ready: Terminal, tmp_path: Path, canary: Canaries
) -> None:
    ready("secret", "set", "acme", "token", stdin=canary("token"))
    text = ready("export").out
    assert "# token: set " in text
    assert 'password = "env:SHOP_PASSWORD"' in text
    assert "shop" not in ready("export", "acme").out
    elsewhere = Terminal(tmp_path / "elsewhere", canary)
    assert elsewhere("apply", "-", "--json", stdin=text).json["created"] == [
        "acme",
        "shop",
    ]
    assert elsewhere("export", "shop").out == ready("export", "shop").out
    assert ready("export", "nobody").code == 2


def test_the_audit_is_listed_and_exported_without_a_value(
    ready: Terminal, canary: Canaries
) -> None:
    ready("secret", "set", "acme", "token", stdin=canary("token"))
    ready("request", "acme", f"/echo?{canary.token('query')}=1")
    newest, before = ready("audit", "list", "--json", "--limit", "2").json
    assert (newest["tag"], newest["outcome"]) == ("engine:send:ended", "ok")
    assert (before["path"], before["attempt"]) == ("/echo", newest["attempt"])
    assert "send ended" in ready("audit", "list").out
    records = [json.loads(line) for line in ready("audit", "export").out.splitlines()]
    assert {(r["tag"], r.get("actor", "")[:4]) for r in records} == {
        ("api:configuration:created", "cli:"),
        ("api:secret:set", "cli:"),
        ("engine:send:intended", ""),
        ("engine:send:ended", ""),
        ("audit:records:exported", "cli:"),
    }


def test_a_key_rotation_from_the_terminal(ready: Terminal) -> None:
    old = ready("keys", "status", "--json").json["keys"][0]["id"]
    new = ready("keys", "add").out.strip()
    assert ready("keys", "retire", old).code == 2
    ready("keys", "promote", new)
    refused = ready("keys", "retire", old)
    assert (refused.code, "2 secrets are still encrypted" in refused.err) == (2, True)
    assert ready("request", "acme", "/bearer").code == 0
    assert ready("keys", "rewrap").out == "rewrapped: 2 secrets\n"
    assert ready("keys", "rewrap").out == "rewrapped: 0 secrets\n"
    assert ready("keys", "retire", old).out == f"retired: {old}\n"
    assert ready("keys", "status", "--json").json == {
        "sealed": False,
        "keys": [
            {"id": old, "state": "retired", "secrets": 0},
            {"id": new, "state": "primary", "secrets": 2},
        ],
    }
    assert ready("request", "acme", "/bearer").code == 0
    assert ready("audit", "verify").code == 0


def test_the_audit_is_clean_after_every_process_and_shows_a_change(
    ready: Terminal,
) -> None:
    import sqlite3

    for _ in range(3):
        ready("request", "acme", "/bearer")
    verdict = ready("audit", "verify", "--json")
    # Two configurations created, two secrets set, three requests with intent and
    # outcome.
    assert verdict.json == {
        "ok": True,
        "rows": 10,
        "first_bad": None,
        "unprotected_tail": 0,
    }
    with sqlite3.connect(ready.home / "data" / "outkey.sqlite3") as database:
        database.execute("DELETE FROM outkey_auditrecord WHERE id = 3")
    database.close()
    broken = ready("audit", "verify")
    assert broken.code == 1
    assert broken.out.startswith("broken at ")


def test_a_database_that_is_no_database_is_storage_unavailable(
    outkey: Terminal,
) -> None:
    outkey("list")
    file = Path(outkey.home / "data" / "outkey.sqlite3")
    for part in file.parent.iterdir():
        part.write_bytes(b"nonsense" * 1000)
    done = outkey("list")
    assert (done.code, "storage_unavailable" in done.err) == (5, True)
    assert "Traceback" not in done.err


def test_the_version_is_said_and_a_typing_error_is_answered_by_what_was_meant(
    outkey: Terminal,
) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", outkey("--version").out)
    for arguments, said in {
        ("apply",): "FILE is missing",
        ("lst",): "Did you mean list?",
        ("list", "--jsn"): "Did you mean --json?",
        ("audit", "list", "--limit", "abc"): "invalid value for --limit",
    }.items():
        done = outkey(*arguments)
        assert (done.code, said in done.err) == (2, True), done.err
    helped = outkey("keys")
    assert (helped.code, "promote" in helped.out) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tokens-of-mine"], "unknown command: tokens-of-mine"),
        (["secret", "sett", "acme"], "unknown command: sett"),
        (["list", "--jsn"], "unknown option: --jsn"),
        (["list", "--password=hunter"], "unknown option: --password"),
    ],
)
def test_an_unknown_command_or_option_is_named(
    outkey: Terminal, arguments: list[str], message: str
) -> None:
    done = outkey(*arguments)
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        f"error[configuration]: {message}",
    )
    assert "hunter" not in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["secret", "set", "acme", "token", "correct-horse"],
        ["secret", "set", "acme", "token", "--", "--correct-horse"],
        ["secret", "correct-horse1"],
        ["secret", "Correct-horse"],
        ["secret", "correct-horse-of-more-than-thirty-letters"],
        ["secret", "set", "acme", "token", "--correct-horse1"],
        ["secret", "set", "acme", "token", "-correct-horse"],
        ["secret", "correct-horse'. And"],
    ],
)
def test_what_may_be_a_secret_is_not_repeated(
    outkey: Terminal, arguments: list[str]
) -> None:
    done = outkey(*arguments)
    assert (done.code, "unknown command, option" in done.err) == (2, True)
    assert "orrect" not in done.out + done.err


def test_a_preview_takes_a_path_alone_and_prints_curl(ready: Terminal) -> None:
    told = ready("preview", "acme", "/bearer", "--curl").out
    assert told.startswith("curl --request GET")
    assert '"$AUTHORIZATION"' in told


def test_what_steers_a_terminal_is_shown_and_not_obeyed(outkey: Terminal) -> None:
    text = '[configuration."a\\u001b[31mb"]\nbase_url = "https://a.example"'
    done = outkey("apply", "-", stdin=text)
    assert (done.code, "\x1b" in done.err) == (2, False)


def test_the_api_cannot_make_a_secret_visible_by_echoing_it_in_a_header(
    outkey: Terminal, document: str, canary: Canaries
) -> None:
    outkey("apply", document)
    token = canary.token()
    outkey("secret", "set", "acme", "token", stdin=f"Bearer {token} ")
    outkey("secret", "set", "acme", "header:X-API-Key", stdin="k")
    for form in ("--include", "--json"):
        assert outkey("request", "acme", f"/echo?show={token}", form).code == 0


def test_a_client_of_an_event_loop_borrows_from_an_installation(
    ready: Terminal, spar: Spar
) -> None:
    done = assert_program_passes("cli/async_client", ready.home, f"{spar.url}/bearer")
    assert done.stdout == "200\n", done.stderr[-2000:]
