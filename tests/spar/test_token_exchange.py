"""The sparring provider exchanges made-up tokens of users, or refuses them."""

import pytest

from outkey.spar import Spar
from spar.test_authorization import Answer, api, shared, token

__all__ = ["shared"]  # a fixture
GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
TYPE = "urn:ietf:params:oauth:token-type:"


def exchange(spar: Spar, query: str = "", **form: str) -> Answer:
    usual = {
        "grant_type": GRANT,
        "subject_token": "spar-user-alice",
        "subject_token_type": f"{TYPE}jwt",
    }
    return token(spar, query, **usual | form)


def test_an_exchanged_token_is_that_of_the_user(shared: Spar) -> None:
    answer = exchange(shared)
    assert answer.status == 200
    assert answer.fields["issued_token_type"] == f"{TYPE}access_token"
    assert api(shared, answer.fields["access_token"]).fields["subject"] == "alice"


@pytest.mark.parametrize(
    ("query", "form", "error"),
    [
        ("", {"subject_token": "a stranger's"}, "invalid_request"),
        ("", {"subject_token": "spar-user-eve-expired"}, "invalid_request"),
        ("", {"subject_token_type": f"{TYPE}saml2"}, "invalid_request"),
        ("?audience=a", {"audience": "b"}, "invalid_target"),
        ("?actor=needed", {}, "invalid_request"),
        ("", {"actor_token": "x", "actor_token_type": f"{TYPE}jwt"}, "invalid_request"),
        ("?client=none", {"client_id": ""}, "invalid_client"),
    ],
)
def test_an_exchange_is_refused(
    shared: Spar, query: str, form: dict[str, str], error: str
) -> None:
    if query == "?client=none":  # nothing but an exchange is for nobody
        form = form | {"grant_type": "client_credentials"}
    assert exchange(shared, query, **form).fields["error"] == error


def test_an_actor_and_an_audience_are_accepted(shared: Spar) -> None:
    actor = {"actor_token": "spar-actor", "actor_token_type": f"{TYPE}access_token"}
    query = "?actor=needed&audience=a"
    assert exchange(shared, query, audience="a", **actor).status == 200
