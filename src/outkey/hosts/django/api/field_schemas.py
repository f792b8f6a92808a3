"""JSON schemas of bodies, from the tables of fields that read them."""

from collections.abc import Mapping, Sequence
from typing import Any

from outkey.foundation.core.fields.field_kinds import MAX_LIST, MAX_TEXT, Field, Kind
from outkey.sync.core.line.fields import CALL_FIELDS, LINE_FIELDS
from outkey.webhooks.core.settings.section import WEBHOOK_FIELDS

Schema = dict[str, Any]
COMPONENTS = "#/components/schemas/"
LINE_EXAMPLE: Schema = {
    "configuration": "acme",
    "direction": "pull",
    "path": "/contacts",
    "target": "table:contacts",
    "keys": ["id"],
    "fields": [{"api": "id", "host": "id"}, {"api": "email", "host": "email"}],
    "schedule": "0 6 * * *",
}
WEBHOOK_EXAMPLE: Schema = {
    "configuration": "acme",
    "scheme": "github",
    "line": "contacts",
}
# A line that names one request, and synchronizes nothing, needs no more.
LINE_REQUIRED = [field.key for field in CALL_FIELDS if field.required]
NULL: Schema = {"type": "null"}
NUMBERS = {Kind.INTEGER: "integer", Kind.SECONDS: "number"}


def field_schemas() -> dict[str, Schema]:
    """Return the schemas of bodies by name: of whole settings, and of changes."""
    bodies = {
        "Line": (LINE_FIELDS, LINE_REQUIRED, LINE_EXAMPLE),
        "Webhook": (WEBHOOK_FIELDS, ["scheme"], WEBHOOK_EXAMPLE),
    }
    schemas: dict[str, Schema] = {}
    for name, (fields, required, example) in bodies.items():
        schemas[f"{name}Settings"] = {
            **table_schema(fields),
            "description": "The keys of the TOML.",
            "required": required,
            "example": example,
        }
        schemas[f"{name}Changes"] = {
            **changes_schema(fields),
            "description": (
                "The keys of the TOML that change (JSON Merge Patch, RFC 7396): null"
                " returns one to its default, and a list is replaced."
            ),
            "example": {key: example[key] for key in [*example][1:2]},
        }
    return schemas


def body_of(schema: str) -> dict[str, Any]:
    """Return the description of an operation's body that has this schema."""
    content = {"application/json": {"schema": {"$ref": COMPONENTS + schema}}}
    return {"requestBody": {"required": True, "content": content}}


def table_schema(fields: Sequence[Field]) -> Schema:
    """Return the schema of a whole table."""
    schema: Schema = {
        "type": "object",
        "properties": {field.key: field_schema(field) for field in fields},
    }
    required = [
        field.key for field in fields if field.required and not field.alternatives
    ]
    return schema | ({"required": required} if required else {})


def changes_schema(fields: Sequence[Field]) -> Schema:
    """Return the schema of changes of a table: any of its keys, or null."""
    return {
        "type": "object",
        "properties": {
            field.key: {"anyOf": [_changed_value(field), NULL]} for field in fields
        },
    }


def _changed_value(field: Field) -> Schema:
    if field.kind is Kind.TABLE:
        return changes_schema(field.parts)
    return value_schema(field)


def field_schema(field: Field) -> Schema:
    """Return the schema of a field, with its help and its default."""
    schema = value_schema(field) | {"description": field.help}
    if isinstance(field.default, str | int | float | bool) and field.default != "":
        schema["default"] = field.default
    return schema


def value_schema(field: Field) -> Schema:
    """Return the schema of the values that a field takes."""
    kind = field.kind
    text: Schema = {"type": "string", "maxLength": int(field.maximum) or MAX_TEXT}
    texts: Schema = {"type": "array", "items": {"type": "string"}, "maxItems": MAX_LIST}
    if kind in NUMBERS:
        return {
            "type": NUMBERS[kind],
            "minimum": field.minimum,
            "maximum": field.maximum,
        }
    schemas: Mapping[Kind, Schema] = {
        Kind.CHOICE: {"type": "string", "enum": [value for value, _ in field.choices]},
        Kind.FLAG: {"type": "boolean"},
        Kind.DATE: {"type": "string", "format": "date"},
        Kind.TEXTS: {"type": "object", "additionalProperties": {"type": "string"}},
        Kind.LIST: texts,
        Kind.NAMES: {"anyOf": [{"type": "string"}, texts]},
    }
    if kind is Kind.TABLE:
        return table_schema(field.parts)
    if kind is Kind.TABLES:
        rows: Schema = {"type": "array", "items": table_schema(field.parts)}
        return rows | {"maxItems": int(field.maximum) or MAX_LIST}
    return schemas.get(kind, text)
