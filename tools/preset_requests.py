"""The requests of presets, as they are recorded for the tests.

Run `.venv/bin/python tools/preset_requests.py` after a change of a preset, and read the
difference: it is what the preset sends now.
"""

import json
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from outkey.administration.adapters.preset_files import PresetFiles
from outkey.administration.core.presets.presets import Preset, PresetMethod
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.testing import fake_gateway

FOLDER = Path(__file__).parents[1] / "tests" / "unit"
REQUESTS = FOLDER / "preset_requests.json"
TOKEN_REQUESTS = FOLDER / "preset_token_requests.json"
SECRET = "a-value"  # noqa: S105 - of every secret
ADDRESS = "93.184.215.14"  # any public one
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
    """Whether outkey gets a token by what is entered, without a user or a key."""
    if method.table.get("token_source") == "login":
        return True
    oauth2 = method.table.get("oauth2", {})
    is_signed = oauth2.get("client_auth") == "private_key_jwt"
    return oauth2.get("grant") == "client_credentials" and not is_signed


def token_request_of(preset: Preset, method: PresetMethod) -> list[str]:
    """Return the request for a token as it leaves."""
    made = example_of(preset, method)
    url = made.oauth2.token_url if made.uses_oauth2 else made.base_url
    world = fake_gateway(
        made,
        secrets=dict.fromkeys(made.needed_secrets(), SECRET),
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
    target = f"{request.origin}{request.target}"
    return [f"{request.method} {target}", *headers, reveal(request.body)]


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
