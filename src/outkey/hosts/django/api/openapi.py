"""The OpenAPI document: what ninja knows of the resources, and the send proxy."""

import json
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags

from outkey.hosts.django.api.resources import openapi_schema
from outkey.hosts.django.api.send import METHODS

# Every status may also be the API's own, with a body of any kind.
ERROR = {
    "content": {
        "application/json": {
            "schema": {"anyOf": [{"$ref": "#/components/schemas/ErrorBody"}, {}]}
        },
        "*/*": {"schema": {}},
    }
}
STATUSES_OF_SEND = {
    "400": "The path is absolute or has a segment `..`, or a header is invalid.",
    "401": "No API token, or none that is valid; or the API's own status.",
    "403": "The token lacks the scope send, or outkey's policy refuses; or the API's.",
    "404": "The token has no such configuration or connection; or the API's status.",
    "409": "The configuration cannot be used, or a secret or connection is missing.",
    "413": "The body is larger than the configuration's limit.",
    "429": "The rate limit of the token or of the configuration; or the API's own.",
    "502": "The API, its TLS, DNS or token endpoint failed.",
    "503": "outkey is sealed, or its storage is not available.",
    "504": "The API did not respond in time.",
}
API_RESPONSE = {
    "description": "The API's own response, with its status and headers.",
    "content": {"*/*": {"schema": {}}},
    "headers": {
        "X-Outkey-Attempt": {
            "description": "The attempt, as the audit names it.",
            "schema": {"type": "string"},
        },
        "X-Outkey-Cause": {
            "description": "What went wrong, if something did.",
            "schema": {"type": "string"},
        },
    },
}
METHODS_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")
BODY = {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}


class EncodedDocument(NamedTuple):
    """The document as it is sent, and the ETag of this content."""

    body: bytes
    tag: str


def openapi_response(request: HttpRequest) -> HttpResponse:
    """Return the OpenAPI document; it needs no token."""
    document = _encoded_document(request.path.removesuffix("openapi.json"))
    known = parse_etags(request.headers.get("If-None-Match", ""))
    response = HttpResponse(document.body, content_type="application/json")
    if document.tag in known or "*" in known:
        response = HttpResponse(status=304)
        del response["Content-Type"]
    response["ETag"] = document.tag
    response["Cache-Control"] = "no-cache"  # stored, and compared by its ETag
    return response


# Made once: it takes a third of a second, and needs no token.
@lru_cache(maxsize=4)
def _encoded_document(prefix: str) -> EncodedDocument:
    """Return the document of an interface at this path."""
    document = openapi_schema(prefix)
    path = f"{prefix}send/{{configuration}}/{{path}}"
    document["paths"] = {**document["paths"], path: send_operations()}
    body = json.dumps(document, default=str).encode()
    return EncodedDocument(body, f'"{sha256(body).hexdigest()[:32]}"')


def send_operations() -> dict[str, Any]:
    """Return the operations of the send proxy."""
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string"},
            "example": example,
        }
        for name, example in (("configuration", "acme"), ("path", "contacts"))
    ]
    responses: dict[str, Any] = {"default": API_RESPONSE}
    for status, description in STATUSES_OF_SEND.items():
        responses[status] = {"description": description, **ERROR}
    operation = {
        "summary": "Send a request with a configuration's credentials",
        "description": (
            "Path, query, headers and body go to the Base URL of the configuration;"
            " the response comes back as it is. Scope: send."
        ),
        "tags": ["send"],
        "parameters": parameters,
        "responses": responses,
        "security": [{"TokenAuthentication": []}],
    }
    operations: dict[str, Any] = {}
    for method in METHODS:
        name = method.lower()
        operations[name] = {**operation, "operationId": f"send_{name}"}
        if method in METHODS_WITH_BODY:
            operations[name]["requestBody"] = BODY
    return operations
