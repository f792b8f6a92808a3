"""Imports beside the makers' own readers: Postman's library and converter, and Bruno's.

Where a converter loses what outkey reads, the fixture says so.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from outkey.hosts.importing import read_import
from outkey.importing.core.readers.bruno import parse_bru
from outkey.importing.core.reading import Import
from peers.authorization_servers import INSTALLED, require_node
from peers.servers import require

JUDGES = Path(__file__).parent / "import_judges.mjs"
SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
BASE = "https://api.acme.example/v2"


@pytest.fixture(scope="module")
def node() -> Path:
    for package in (
        "postman-collection",
        "openapi-to-postmanv2",
        "@usebruno/lang",
        "@usebruno/converters",
    ):
        missing = f"missing npm package: {package} (make .venv/.dev installs it)"
        require(INSTALLED / "node_modules" / package, missing)
    return require_node()


def judge(node: Path, name: str, **given: object) -> Any:  # noqa: ANN401 - its verdict
    done = subprocess.run(
        [str(node), str(JUDGES), str(INSTALLED)],
        input=json.dumps({"judge": name, **given}),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


def auth(kind: str, **settings: str) -> dict[str, object]:
    rows = [{"key": key, "value": value} for key, value in settings.items()]
    return {"type": kind, kind: rows}


def get(name: str, **more: object) -> dict[str, object]:
    return {
        "name": name,
        "request": {"method": "GET", "url": "{{base}}/" + name, **more},
    }


def collection(*items: object, **more: object) -> str:
    info = {"name": "Acme", "schema": SCHEMA}
    variables = [{"key": "base", "value": BASE}]
    return json.dumps({"info": info, "item": items, "variable": variables} | more)


BEARER = auth("bearer", token="8s7d6f5g")
BASIC = auth("basic", username="svc", password="s3cr3t99")
OAUTH2 = auth(
    "oauth2",
    grant_type="client_credentials",
    accessTokenUrl="https://id.acme.example/token",
    clientId="app-1",
    clientSecret="8s7d6f5g",
    scope="read write",
    client_authentication="header",
    addTokenTo="header",
)
COLLECTIONS = {
    "inherited from the collection": collection(get("a"), auth=BEARER),
    "of the request": collection(get("a", auth=BASIC), auth=BEARER),
    "inherited from a folder": collection(
        get("a"), {"name": "f", "auth": BASIC, "item": [get("b")]}, auth=BEARER
    ),
    "nested folders": collection(
        {"name": "f", "auth": BASIC, "item": [{"name": "g", "item": [get("b")]}]},
        auth=BEARER,
    ),
    "key in a header": collection(
        get("a"), auth=auth("apikey", key="K", value="8s7d6f")
    ),
    "key in the query": collection(
        get("a"), auth=auth("apikey", key="k", value="8s7d6f", **{"in": "query"})
    ),
    "digest": collection(get("a"), auth=auth("digest", username="u", password="s3c99")),
    "OAuth 2.0": collection(get("a"), auth=OAUTH2),
}
# How Postman's kinds are shown by a configuration.
KINDS = {
    "bearer": ("bearer", "entered"),
    "basic": ("basic", None),
    "digest": ("digest", None),
    "apikey": (None, None),
    "oauth2": ("bearer", "oauth2"),
}


def facts(imported: Import) -> list[tuple[object, ...]]:
    """Return what decides how requests authenticate, for each configuration."""
    found: list[tuple[object, ...]] = []
    for one in imported.configurations:
        values = one.draft.values
        shown = {
            path: value
            for path, value in values.items()
            if path.startswith(("oauth2.", "auth", "token", "username", "base_url"))
        }
        rows = [(row.key, row.secret) for row in one.draft.headers or ()]
        parameters = [(row.key, row.secret) for row in one.draft.query or ()]
        secrets = {name: secret.reveal() for name, secret in one.secrets.items()}
        found.append((shown, rows, parameters, secrets))
    return found


@pytest.mark.parametrize("name", COLLECTIONS)
def test_requests_authenticate_as_postman_would(name: str, node: Path) -> None:
    text = COLLECTIONS[name]
    imported = read_import(text)
    by_name = {one.draft.name: one.draft.values for one in imported.configurations}
    lines = {
        drafted.line.name.rpartition(" ")[2]: drafted.line for drafted in imported.lines
    }
    variables = [{"key": "base", "value": BASE}]
    verdict = judge(node, "postman", collection=text, variables=variables)
    assert len(verdict) == len(lines)
    for request in verdict:
        line = lines[request["name"]]
        values = by_name[line.configuration]
        assert request["url"] == f"{values['base_url']}{line.path}"
        kind, source = KINDS[request["kind"]]
        assert values.get("authentication_type") == kind
        assert values.get("token_source") == source


# Its own converter leaves out where OAuth 2.0 client credentials are sent.
@pytest.mark.parametrize("name", [name for name in COLLECTIONS if name != "OAuth 2.0"])
def test_a_collection_reads_as_its_conversion_for_bruno(name: str, node: Path) -> None:
    text = COLLECTIONS[name]
    converted = judge(node, "postmanToBruno", collection=text)
    # Variables of a collection become those of its environment.
    converted["environments"] = [{"variables": [{"name": "base", "value": BASE}]}]
    assert facts(read_import(json.dumps(converted), source="bruno")) == facts(
        read_import(text)
    )


def insomnia(**authentication: str) -> str:
    resources = [
        {"_id": "wrk_1", "_type": "workspace", "name": "Acme", "scope": "collection"},
        {
            "_id": "req_1",
            "_type": "request",
            "parentId": "wrk_1",
            "name": "orders",
            "url": f"{BASE}/orders",
            "method": "GET",
            "headers": [{"name": "X-A", "value": "1"}],
            "parameters": [],
            "body": {},
            "authentication": authentication,
        },
    ]
    export = {"_type": "export", "__export_format": 4, "resources": resources}
    return json.dumps(export)


@pytest.mark.parametrize(
    "text",
    [
        insomnia(type="bearer", token="8s7d6f5g"),
        insomnia(type="basic", username="svc", password="s3cr3t99"),
        # Not Digest, which the converter loses.
    ],
)
def test_an_insomnia_export_reads_as_its_conversion_for_bruno(
    text: str, node: Path
) -> None:
    converted = judge(node, "insomniaToBruno", text=text)
    assert facts(read_import(json.dumps(converted), source="bruno")) == facts(
        read_import(text)
    )


def openapi(**scheme: object) -> str:
    return json.dumps(
        {
            "openapi": "3.0.3",
            "info": {"title": "Acme", "version": "1"},
            "servers": [{"url": BASE}],
            "security": [{"one": []}],
            "components": {"securitySchemes": {"one": scheme}},
            "paths": {
                "/orders": {"get": {"responses": {"200": {"description": "fine"}}}}
            },
        }
    )


@pytest.mark.parametrize(
    "text",
    [
        openapi(type="http", scheme="bearer"),
        openapi(type="http", scheme="basic"),
        openapi(type="http", scheme="digest"),
        openapi(type="apiKey", name="X-Key", **{"in": "header"}),
        openapi(type="apiKey", name="k", **{"in": "query"}),
    ],
)
def test_a_description_reads_as_its_conversion_for_postman(
    text: str, node: Path
) -> None:
    converted = judge(node, "openapi", text=text)
    assert facts(read_import(json.dumps(converted))) == facts(read_import(text))


BRU = """meta {
  name: Orders
  type: http
  seq: 1
}

get {
  url: https://api.acme.example/v2/orders?page=1
  body: none
  auth: {kind}
}

params:query {
  page: 1
  ~off: 1
}

headers {
  X-A: 1
  ~X-Off: 2
}

auth:{kind} {
  {settings}
}

script:pre-request {
  if (true) {
    bru.setVar("a", "b");
  }
}
"""


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("basic", {"username": "svc", "password": "s3cr3t99"}),
        ("bearer", {"token": "8s7d6f5g"}),
        ("digest", {"username": "svc", "password": "s3cr3t99"}),
        ("apikey", {"key": "K", "value": "8s7d6f5g", "placement": "header"}),
    ],
)
def test_a_bru_file_is_read_as_bruno_reads_it(
    kind: str, settings: dict[str, str], node: Path
) -> None:
    lines = "\n  ".join(f"{key}: {value}" for key, value in settings.items())
    text = BRU.replace("{kind}", kind).replace("{settings}", lines)
    verdict = judge(node, "bru", text=text)
    file = parse_bru(text)
    assert file.method == verdict["http"]["method"]
    assert file.pairs("get")["url"] == verdict["http"]["url"]
    assert file.pairs("headers") == {
        row["name"]: row["value"] for row in verdict["headers"] if row["enabled"]
    }
    assert file.pairs(f"auth:{kind}") == verdict["auth"][kind]
    assert file.pairs("meta")["name"] == verdict["meta"]["name"]
    secrets = {name: s.reveal() for name, s in read_secrets(text).items()}
    assert list(secrets.values()) == [list(settings.values())[kind != "bearer"]]


def read_secrets(text: str) -> Any:  # noqa: ANN401 - secrets by name
    return read_import(text).configurations[0].secrets
