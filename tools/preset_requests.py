"""The requests of presets, as they are recorded for the tests.

Run `.venv/bin/python tools/preset_requests.py` after a change of a preset, and read the
difference: it is what the preset sends now.
"""

import json
import re
from base64 import urlsafe_b64decode
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from outkey.administration.adapters.preset_files import PresetFiles
from outkey.administration.core.presets.presets import Preset, PresetMethod
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.fields.choices import ClientAuth
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.secret_state import successor
from outkey.testing import fake_gateway

FOLDER = Path(__file__).parents[1] / "tests" / "unit"
REQUESTS = FOLDER / "preset_requests.json"
TOKEN_REQUESTS = FOLDER / "preset_token_requests.json"
SECRET = "a-value"  # noqa: S105 - of every secret
ADDRESS = "93.184.215.14"  # any public one
OF_ITSELF = frozenset(
    {"client_credentials", "jwt_bearer", "password", "token_exchange"}
)
SIGNED = {ClientAuth.PRIVATE_KEY_JWT}
ASSERTION = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
OF_TRANSPORT = frozenset({"Host", "Accept-Encoding", "Content-Length"})

Record = dict[str, list[str]]


def example_of(preset: Preset, method: PresetMethod) -> Configuration:
    """Return the configuration of a method with the examples of its variables."""
    values = {
        variable.name: variable.example for variable in preset.variables_of(method)
    }
    return preset.draft(preset.name, method, values).configuration()


def request_of(preset: Preset, method: PresetMethod) -> list[str]:
    """Return the test request of a method as a preview shows it."""
    made = example_of(preset, method)
    secrets = dict.fromkeys(made.needed_secrets(), SECRET)
    verification = made.verification
    shown = fake_gateway(made, secrets=secrets).gateway.preview(
        preset.name, verification.test_method
    )
    headers = [
        f"{header.name}: {header.value}"
        for header in shown.headers
        if header.name not in OF_TRANSPORT
    ]
    body = [verification.test_body] if verification.test_body else []
    return [f"{shown.method} {shown.url}", *headers, *body]


def fetches_token(method: PresetMethod) -> bool:
    """Whether outkey gets a token by what is entered, without a user."""
    if method.table.get("token_source") == "login":
        return True
    return method.table.get("oauth2", {}).get("grant") in OF_ITSELF


def token_request_of(preset: Preset, method: PresetMethod) -> list[str]:
    """Return the request for a token as it leaves, with its assertion decoded."""
    made = with_secrets(example_of(preset, method), method)
    url = made.oauth2.token_url if made.uses_oauth2 else made.base_url
    world = fake_gateway(
        made,
        secrets=secrets_of(made, method),
        names={urlsplit(url).hostname or "": (ADDRESS,)},
    )
    with suppress(OutkeyError):  # since the fake response has no token
        world.token(preset.name).renew()
    request, _ = world.transport.sent[0]
    headers = [
        f"{header.name}: {reveal(header.value)}"
        for header in request.headers
        if header.name not in {*OF_TRANSPORT, "User-Agent"}
    ]
    target = f"{request.origin}{reveal(request.wire_target())}"
    body = ASSERTION.sub(decoded, reveal(request.body))
    return [f"{request.method} {target}", *headers, body]


def with_secrets(made: Configuration, method: PresetMethod) -> Configuration:
    """Return a configuration that has all secrets of its method, also optional ones."""
    states = {
        name: successor(None, made.binding_of(name), None) for name in method.secrets
    }
    return replace(made, secrets=states)


def secrets_of(made: Configuration, method: PresetMethod) -> dict[str, str]:
    """Return all secrets of a method, each in a form that can be used."""
    secrets = dict.fromkeys(method.secrets, SECRET)
    oauth2 = made.oauth2
    if oauth2.client_auth in SIGNED:
        secrets["client_secret"] = private_key()
    if "private_key" in secrets:
        is_named = oauth2.client_id or oauth2.assertion.issuer
        secrets["private_key"] = private_key() if is_named else service_account()
    return secrets


def service_account() -> str:
    """Return a file of Google's, which names the account besides its key."""
    account = {"type": "service_account", "client_email": "erp@acme.example"}
    return json.dumps(account | {"private_key_id": "1", "private_key": private_key()})


@cache
def private_key() -> str:
    """Return a key that signs assertions."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def decoded(assertion: re.Match[str]) -> str:
    """Return what an assertion states, without what differs each time."""
    header, claims, _ = assertion[0].split(".")
    stated = [json.loads(urlsafe_b64decode(f"{part}==")) for part in (header, claims)]
    stated[1]["jti"] = "…"
    return json.dumps(stated, sort_keys=True, ensure_ascii=False)


def reveal(value: object) -> str:
    """Return a part of a request as it is sent; its secrets are `SECRET`."""
    if isinstance(value, Secret):
        value = value.reveal()
    return value.decode() if isinstance(value, bytes) else str(value)


def record() -> tuple[Record, Record]:
    """Return the test requests and the requests for tokens, by preset and method."""
    requests: Record = {}
    token_requests: Record = {}
    for preset in PresetFiles().all():
        for method in preset.methods.values():
            name = f"{preset.name} {method.name}"
            requests[name] = request_of(preset, method)
            if fetches_token(method):
                token_requests[name] = token_request_of(preset, method)
    return requests, token_requests


def main() -> None:
    """Write both records."""
    for path, requests in zip((REQUESTS, TOKEN_REQUESTS), record(), strict=True):
        text = json.dumps(requests, indent=1, sort_keys=True, ensure_ascii=False)
        path.write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main()
