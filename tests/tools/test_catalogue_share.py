"""How much of a catalogue the fields express: each rule, on small entries."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from catalogue import origin_of, read_catalogue
from catalogue_share import NO, REMARK, RULES, YES, judge, report

KEY = {
    "auth_mode": "API_KEY",
    "proxy": {
        "base_url": "https://api.acme.example",
        "headers": {"x-api-key": "${apiKey}"},
    },
}
LOGIN = {
    "auth_mode": "TWO_STEP",
    "proxy": {"base_url": "https://api.acme.example"},
    "token_url": "https://api.acme.example/login",
    "token_params": {"user": "${credentials.user}", "pass": "${credentials.pass}"},
}
OAUTH = {
    "auth_mode": "OAUTH2",
    "proxy": {"base_url": "https://api.acme.example"},
    "authorization_url": "https://acme.example/authorize",
    "token_url": "https://acme.example/token",
}
LEGS = {
    "auth_mode": "OAUTH1",
    "proxy": {"base_url": "https://api.acme.example"},
    "request_url": "https://acme.example/request",
    "authorization_url": "https://acme.example/authorize",
    "token_url": "https://acme.example/token",
}
JWT_BEARER = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}


def api(**keys: object) -> dict[str, object]:
    return {"proxy": {"base_url": "https://api.acme.example", **keys}}


@pytest.mark.parametrize(
    ("entry", "need", "before", "now"),
    [
        (KEY, "", YES, YES),
        (LOGIN, "", YES, YES),
        (OAUTH | {"disable_pkce": True}, "PKCE switched off", REMARK, YES),
        (LEGS, "OAuth 1.0a with three legs", NO, YES),
        (
            LEGS | {"authorization_url": "https://www.acme.example/authorize"},
            "OAuth 1.0a with three legs at several origins",
            NO,
            NO,
        ),
        (
            OAUTH | {"refresh_url": "https://acme.example/renew"},
            "another URL for renewals",
            NO,
            YES,
        ),
        (
            LOGIN | {"refresh_url": "https://api.acme.example/renew"},
            "",
            YES,
            YES,
        ),
        (
            LOGIN | {"token_url": "https://login.acme.example/"},
            "a login at another origin",
            NO,
            YES,
        ),
        (
            LOGIN | {"token_params": {"grant_type": "password"}},
            "the password grant at the origin of the API",
            REMARK,
            YES,
        ),
        (LOGIN | {"token_params": JWT_BEARER}, "the JWT bearer grant", NO, YES),
        (LOGIN | {"token_request_method": "GET"}, "a login by GET", NO, YES),
        (
            LOGIN
            | {"additional_steps": [{"token_url": "https://api.acme.example/two"}]},
            "a login in several steps",
            NO,
            YES,
        ),
        (
            LOGIN | {"additional_steps": [{"token_url": "${step1.url}/two"}]},
            "a step to a host that a response names",
            NO,
            REMARK,
        ),
        (
            LOGIN | {"token_headers": {"X-App": "${credentials.app}"}},
            "headers on the request for a token",
            NO,
            YES,
        ),
        (
            LOGIN
            | {"token_headers": {"X-App": "7"}}
            | api(headers={"x-app": "${credentials.app}"}),
            "",
            YES,
            YES,
        ),
        (
            LOGIN | {"token_headers": {"X-App": "${now:YYYY}"}},
            "a request for a token with a signature or the time",
            NO,
            NO,
        ),
        (
            OAUTH
            | {"token_response_metadata": ["api.url"]}
            | api(base_url="${connectionConfig.url}/v1"),
            "the Base URL from the token response",
            NO,
            NO,
        ),
        (
            OAUTH | {"redirect_uri_metadata": ["company"]},
            "a value or step by hand after connecting",
            REMARK,
            REMARK,
        ),
        (
            KEY | api(headers={"x": "${awsSigV4(a, b, c, d)}"}),
            "AWS signatures",
            REMARK,
            YES,
        ),
        (KEY | api(body={"key": "${apiKey}"}), "a key in the body", NO, NO),
    ],
)
def test_an_entry_is_expressed_as_far_as_its_needs_are(
    entry: dict[str, Any], need: str, before: int, now: int
) -> None:
    (verdict,) = judge({"acme": entry})
    needs = [rule.need for rule in verdict.rules]
    assert any(text.startswith(need) for text in needs) if need else not needs
    assert (verdict.level(0), verdict.level(1)) == (before, now)


def test_no_stage_expresses_less_than_the_one_before() -> None:
    for rule in RULES:
        assert list(rule.levels) == sorted(rule.levels, reverse=True), rule.need


def test_an_alias_has_what_it_does_not_replace(tmp_path: Path) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(
        "one:\n  auth_mode: BASIC\n  proxy: {base_url: 'https://a.example'}\n"
        "two:\n  alias: one\n  display_name: Two\n"
    )
    catalogue = read_catalogue(path)
    assert catalogue["two"]["auth_mode"] == "BASIC"
    assert catalogue["two"]["display_name"] == "Two"
    assert "2 entries" in next(iter(report(judge(catalogue))))


def test_the_report_lists_what_is_left_with_its_reason() -> None:
    lines = [*report(judge({"acme": KEY, "own": KEY | {"auth_mode": "BILL"}}))]
    assert lines.count("- a mode of its own (1): own") == 2
    assert "| 0.2.0 | 1 (50.0%) | 0 (0.0%) | 1 (50.0%) |" in lines


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://API.acme.example/a?b", "https://api.acme.example"),
        ("https://${connectionConfig.host}/a", "https://${connectionconfig.host}"),
        ("${step1.url}/a", "${step1.url}"),
        (None, ""),
    ],
)
def test_the_origin_of_a_url_keeps_its_variables(url: str | None, origin: str) -> None:
    assert origin_of(url) == origin
