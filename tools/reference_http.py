"""The page of the HTTP interface's operations, from its OpenAPI document."""

from collections.abc import Iterator
from typing import Any

from reference_django import configure_django

BEGINNING = """\
# Operations of the HTTP interface

[HTTP interface](../guide/http-api.md) explains tokens, scopes and sending. \
A server has the same as an OpenAPI document at `/api/v1/openapi.json`.
All paths are below `/api/v1`. Every error has the same shape: {error}.
"""
METHODS = ("get", "post", "put", "patch", "delete")
REFERENCE = "#/components/schemas/"
SEND = "/send/{configuration}/{path}"


def http_page() -> Iterator[str]:
    """Yield the page."""
    configure_django()
    from outkey.hosts.django.api.openapi import (  # noqa: PLC0415 - needs Django
        send_operations,
    )
    from outkey.hosts.django.api.resources import (  # noqa: PLC0415 - the same
        openapi_schema,
    )

    document = openapi_schema("/")
    refused = document["paths"]["/configurations"]["get"]["responses"][401]
    yield BEGINNING.replace("{error}", response_text(refused).rpartition(": ")[2])
    paths = {SEND: send_operations(), **document["paths"]}
    for path, operations in paths.items():
        for method in METHODS:
            # The send operation is the same for each of its methods.
            if method in operations and (path != SEND or method == "get"):
                shown = "any method" if path == SEND else method.upper()
                yield from operation_section(shown, path, operations[method])
    yield "## Schemas\n"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield from schema_section(name, schema)


def operation_section(
    method: str, path: str, operation: dict[str, Any]
) -> Iterator[str]:
    """Yield the section of one operation."""
    yield f"## {operation['summary']}\n"
    yield f"`{method} {path}`\n"
    yield f"{operation.get('description', '')}\n"
    parameters = operation.get("parameters", ())
    if parameters:
        yield "| parameter | in | takes | |"
        yield "|---|---|---|---|"
        for parameter in parameters:
            required = "required" if parameter.get("required") else ""
            kind = type_of(parameter["schema"])
            yield f"| `{parameter['name']}` | {parameter['in']} | {kind} | {required} |"
        yield ""
    body = operation.get("requestBody", {}).get("content", {})
    for content_type, content in body.items():
        yield f"Body: {type_of(content['schema'])} (`{content_type}`).\n"
    yield "| status | response |"
    yield "|---|---|"
    responses = operation["responses"]
    for status, response in sorted(responses.items(), key=lambda row: str(row[0])):
        yield f"| {status} | {response_text(response)} |"
    yield ""


def response_text(response: dict[str, Any]) -> str:
    """Return what a response is: its description, and the type of its body."""
    contents = response.get("content", {}).values()
    # The response of the API itself may be anything, which needs no words.
    types = [type_of(content["schema"]) for content in contents if content["schema"]]
    return ": ".join([response["description"].rstrip("."), *types])


def schema_section(name: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield the section of one schema, with its fields."""
    yield f"### {name}\n"
    if schema.get("description"):
        yield " ".join(schema["description"].split()) + "\n"
    required = schema.get("required", ())
    if "enum" in schema:
        yield ", ".join(f"`{value}`" for value in schema["enum"]) + "\n"
    if schema.get("properties"):
        yield "| field | type | required | |"
        yield "|---|---|---|---|"
        for field, facts in schema["properties"].items():
            needed = "yes" if field in required else ""
            text = " ".join(facts.get("description", "").split())
            yield f"| `{field}` | {type_of(facts)} | {needed} | {text} |"
        yield ""


def type_of(schema: dict[str, Any]) -> str:
    """Return the type of a schema in words, with links to named ones."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(REFERENCE)
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "allOf", "oneOf"):
        if key in schema:
            return " or ".join(type_of(choice) for choice in schema[key] if choice)
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = str(schema.get("type", "any value"))
    form = schema.get("format")
    return f"{kind} ({form})" if form else kind
