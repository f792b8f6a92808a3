"""How long building an authenticated request takes before it is sent, without any I/O.

The same steps as the engine takes: target and headers of the call, the header rows, the
scheme with its secret, and the check that no header has two sources. A plain dict is
the lower bound; what is above the type none is authentication alone.
"""

import os
import timeit
from collections.abc import Callable
from functools import partial
from time import process_time

from candidates import TOKEN, outkey_document, profile

from outkey.administration.core.document.document import parse_document
from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
from outkey.sending.core.request.assembly import Call, authenticated_request
from outkey.sending.core.request.message import Request, Response
from outkey.sending.engine.tokens.renewal import TokenManager
from outkey.sending.engine.wire.drive import drive
from outkey.testing import configuration, fake_gateway

PLAIN = "dict"
_PROFILED = 5000
_SECRETS = ReferencedSecrets()


def builders() -> dict[str, Callable[[], object]]:
    """Return what builds headers: a plain dict, and outkey by authentication type."""
    document = parse_document(outkey_document("http://127.0.0.1:8080"))
    token = os.environ[TOKEN]
    return {
        PLAIN: lambda: {"Authorization": f"Bearer {token}"},
        **{
            str(c.authentication_type): partial(_build, Call(c, "GET", "/"))
            for c in (draft.configuration() for draft in document.drafts)
        },
        "oauth2, token at hand": _oauth2(),
    }


def cpu(build: Callable[[], object], number: int) -> float:
    """Return the CPU µs for building once."""
    return timeit.timeit(build, timer=process_time, number=number) / number * 1e6


def profiles() -> dict[str, list[tuple[str, float, float]]]:
    """Return where the time goes, by authentication type."""
    return {
        name: profile(build, _PROFILED)
        for name, build in builders().items()
        if name != PLAIN
    }


def _oauth2() -> Callable[[], object]:
    """Return what builds headers with a token that was fetched before."""
    made = configuration(
        authentication_type="bearer",
        token_source="oauth2",
        oauth2__token_url="https://api.acme.example/token",
        oauth2__client_id="erp",
    )
    answer = Response(
        200, body=b'{"access_token": "0123456789abcdef", "expires_in": 99999}'
    )
    fake = fake_gateway(
        made, responses=lambda _: answer, secrets={"client_secret": "secret"}
    )
    fake.gateway.send("acme", "GET", "/")
    keeper, call = TokenManager(fake.sender.context, made), Call(made, "GET", "/")

    def build() -> Request:
        token = drive(keeper.get(), fake.sender.runtime)
        return authenticated_request(
            call.request(), made, fake.sender.context.opener(made), token
        )

    return build


def _build(call: Call) -> Request:
    configuration = call.configuration
    return authenticated_request(
        call.request(), configuration, partial(_SECRETS.open, configuration)
    )
