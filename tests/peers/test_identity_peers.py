"""Token requests beside google-auth and azure-identity; PyJWT judges assertions.

Nothing is sent: the clients of the providers hand over their requests, and a function
plays the token endpoint, which refuses in the words of PyJWT.
"""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from outkey.foundation.core.secret import Secret
from outkey.sending.core.request.message import Request, Response
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes.basic import FakeWorld
from peers.authorization_servers import INSTALLED
from peers.servers import require

PROGRAM = Path(__file__).parent / "programs" / "identities.py"
TOKEN_URL = "https://oauth2.googleapis.com/token"
SCOPE = "https://graph.microsoft.com/.default"
NAMES = {
    "api.acme.example": ("93.184.215.14",),
    "oauth2.googleapis.com": ("93.184.215.15",),
}
KEY = rsa.generate_private_key(65537, 2048)
PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
EMAIL = "erp@acme.iam.example"
ACCOUNT = {
    "type": "service_account",
    "project_id": "acme",
    "private_key_id": "key-of-google",
    "private_key": PEM,
    "client_email": EMAIL,
    "token_uri": TOKEN_URL,
}
OAUTH = {
    "authentication_type": "bearer",
    "token_source": "oauth2",
    "oauth2__token_url": TOKEN_URL,
    "oauth2__scope": SCOPE,
}
JWT = OAUTH | {
    "oauth2__grant": "jwt_bearer",
    "oauth2__assertion__scope_in": "assertion",
}
WORKLOAD = "header.payload-of-the-workload.signature"
Form = dict[str, str]


@pytest.fixture(scope="module")
def theirs() -> dict[str, Any]:
    """Return the token requests of the two clients."""
    python = require(
        INSTALLED / "identities/bin/python",
        "missing libraries: requirements/identities.lock (make .venv/.dev)",
    )
    given = {"account": ACCOUNT, "scope": SCOPE, "token": WORKLOAD}
    finished = subprocess.run(
        [str(python), str(PROGRAM)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    result: dict[str, Any] = json.loads(finished.stdout)
    return result


class Endpoint:
    """A token endpoint that keeps forms, and refuses as a function decides."""

    def __init__(self, refusal: Callable[[Form], str] = lambda _form: "") -> None:
        self.forms: list[Form] = []
        self.refusal = refusal

    def __call__(self, request: Request) -> Response:
        if request.origin.host.startswith("api."):
            return Response(200)
        assert isinstance(request.body, Secret)
        form = dict(parse_qsl(request.body.reveal(), keep_blank_values=True))
        self.forms.append(form)
        if words := self.refusal(form):
            document = {"error": "invalid_grant", "error_description": words}
            return Response(400, body=json.dumps(document).encode())
        granted = {"access_token": "made-up", "token_type": "Bearer"}
        return Response(200, body=json.dumps(granted).encode())


def world(endpoint: Endpoint, secrets: dict[str, str], **values: object) -> FakeWorld:
    made = configuration(**values)
    return fake_gateway(made, responses=endpoint, secrets=secrets, names=NAMES)


def form_of(secrets: dict[str, str], **values: object) -> Form:
    endpoint = Endpoint()
    fake = world(endpoint, secrets, **values)
    assert fake.gateway.send("acme", "GET", "/").status == 200
    [form] = endpoint.forms
    return form


def parts(assertion: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return header and claims of an assertion that PyJWT verifies, but for times."""
    claims = jwt.decode(
        assertion,
        KEY.public_key(),
        algorithms=["RS256"],
        audience=TOKEN_URL,
        options={"verify_exp": False, "verify_iat": False},
    )
    return jwt.get_unverified_header(assertion), claims


@pytest.mark.parametrize(
    ("request_of", "subject"), [("google", ""), ("delegated", "user@acme.example")]
)
def test_a_service_account_sends_what_google_auth_sends(
    theirs: dict[str, Any], request_of: str, subject: str
) -> None:
    sent = theirs[request_of]
    secrets = {"private_key": json.dumps(ACCOUNT)}
    values = JWT | {
        "oauth2__assertion__subject": subject,
        "oauth2__assertion__lifetime_seconds": 3600,
    }
    ours = form_of(secrets, **values)
    assert ours.keys() == sent["form"].keys()
    assert ours["grant_type"] == sent["form"]["grant_type"]
    assert sent["url"] == TOKEN_URL
    our_header, our_claims = parts(ours["assertion"])
    header, claims = parts(sent["form"]["assertion"])
    assert our_header == header
    assert our_claims.pop("jti")  # RFC 7523 §3; Google does not read it
    lifetimes = [each.pop("exp") - each.pop("iat") for each in (our_claims, claims)]
    assert lifetimes == [3600, 3600]
    assert our_claims == claims


def test_a_workload_sends_what_azure_identity_sends(theirs: dict[str, Any]) -> None:
    ours = form_of(
        {"client_assertion": WORKLOAD},
        **OAUTH | {"oauth2__client_id": "erp", "oauth2__client_auth": "federated"},
    )
    sent = theirs["azure"]["form"]
    # msal says more about itself, which no server needs.
    sent = {name: text for name, text in sent.items() if name != "client_info"}
    assert ours == sent


# ── PyJWT as the judge ──────────────────────────────────────────────────────────────


def refusal_of(
    now: float, key: rsa.RSAPublicKey | None = None, *, used: set[str] | None = None
) -> Callable[[Form], str]:
    """Return an endpoint that verifies with PyJWT, and refuses in its words."""
    seen = set() if used is None else used

    def refusal(form: Form) -> str:
        try:
            claims = jwt.decode(
                form["assertion"],
                key or KEY.public_key(),
                algorithms=["RS256", "PS256"],
                audience=TOKEN_URL,
                issuer="erp",
                subject="erp",
                options={
                    "require": ["iss", "sub", "aud", "exp", "iat", "jti"],
                    "verify_exp": False,
                    "verify_iat": False,
                },
            )
            if claims["exp"] <= now:
                raise jwt.ExpiredSignatureError("Signature has expired")
            if claims["iat"] > now + 60:
                raise jwt.ImmatureSignatureError("The token is not yet valid (iat)")
        except jwt.PyJWTError as error:
            return str(error)
        if claims["jti"] in seen:
            return "The jti was already used"
        seen.add(claims["jti"])
        return ""

    return refusal


ANOTHER = rsa.generate_private_key(65537, 2048).public_key()


@pytest.mark.parametrize(
    ("changed", "skew", "key", "cause"),
    [
        ({"oauth2__client_id": "another"}, 0, None, "assertion-issuer"),
        ({"oauth2__assertion__audience": "x"}, 0, None, "assertion-audience"),
        ({"oauth2__assertion__subject": "x"}, 0, None, "assertion-subject"),
        ({}, 0, ANOTHER, "assertion-key"),
        ({}, 900, None, "clock-off"),
        ({}, -900, None, "clock-off"),
    ],
)
def test_each_wrong_setting_is_explained_first(
    changed: dict[str, object], skew: int, key: rsa.RSAPublicKey | None, cause: str
) -> None:
    endpoint = Endpoint()
    values = JWT | {"oauth2__client_id": "erp"} | changed
    fake = world(endpoint, {"private_key": PEM}, **values)
    endpoint.refusal = refusal_of(fake.clock.now() + skew, key)
    report = fake.gateway.test("acme")
    assert report.suspicions[0].reason.id == cause
    assert PEM[40:80] not in repr(report)


@pytest.mark.parametrize("algorithm", [None, "RS256", "PS256"])
def test_a_right_setting_is_accepted_and_no_assertion_comes_twice(
    algorithm: str | None,
) -> None:
    endpoint = Endpoint()
    values = JWT | {
        "oauth2__client_id": "erp",
        "oauth2__assertion__algorithm": algorithm,
    }
    fake = world(endpoint, {"private_key": PEM}, **values)
    endpoint.refusal = refusal_of(fake.clock.now())
    assert fake.gateway.test("acme").ok
    actions = fake.sender.token_actions(fake.ports.configurations.get("acme"))
    actions.renew()
    assert len(endpoint.forms) == 2


def test_a_number_that_was_used_is_explained() -> None:
    endpoint = Endpoint(lambda _form: "The jti was already used")
    values = JWT | {"oauth2__client_id": "erp"}
    fake = world(endpoint, {"private_key": PEM}, **values)
    report = fake.gateway.test("acme")
    assert report.suspicions[0].reason.id == "assertion-replayed"
