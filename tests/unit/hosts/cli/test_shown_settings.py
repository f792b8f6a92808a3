"""Settings of a configuration as `outkey show` prints them."""

from outkey.hosts.cli.printing.presenters import configuration_rows
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
