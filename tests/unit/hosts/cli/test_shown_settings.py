"""Settings of a configuration as `outkey show` prints them."""

from outkey.hosts.cli.printing.presenters import binding_text, configuration_rows
from outkey.testing import configuration


def test_steps_are_toml_and_methods_are_words() -> None:
    steps = [
        {"method": "GET", "path": "/start", "take": {"nonce": "header:X-Nonce"}},
        {"path": "/login", "format": "form", "body": "p={password}&n={nonce}"},
    ]
    made = configuration(
        authentication_type="bearer",
        token_source="login",
        login__steps=steps,
        login__cookies=True,
        csrf__path="/csrf",
        csrf__methods=["POST", "PUT"],
    )
    shown = dict(configuration_rows(made))
    assert shown["login.steps"].splitlines() == [
        '{ method = "GET", path = "/start", take = { nonce = "header:X-Nonce" } }',
        '{ path = "/login", format = "form", body = "p={password}&n={nonce}" }',
    ]
    assert shown["csrf.methods"] == "POST, PUT"


def test_an_origin_that_two_urls_share_is_shown_once() -> None:
    assert binding_text("https://a:443 https://b:443 https://a:443") == (
        "https://a:443 and https://b:443"
    )
