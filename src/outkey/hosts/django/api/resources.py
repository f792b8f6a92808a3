"""The resources that ninja serves and describes.

Imported with the first request for one: ninja needs 10 MB, which a server of pages or
sends only can do without.
"""

from typing import Any
from urllib.parse import unquote

from django.urls import URLPattern, URLResolver, register_converter
from django.urls.converters import StringConverter
from django.urls.resolvers import RegexPattern

from outkey.hosts.django.api import (
    configurations,
    editing,
    rotation,
    synchronization,
    tables,
)
from outkey.hosts.django.api.field_schemas import field_schemas
from outkey.hosts.django.api.interface import api

# Those that describe the operations.
MODULES = (configurations, rotation, synchronization, editing, tables)


class SegmentConverter(StringConverter):
    """One segment of a path, decoded after the path was split."""

    def to_python(self, value: str) -> str:
        """Return the text that a client has encoded."""
        return unquote(value)


register_converter(SegmentConverter, "segment")


def _resource_urls() -> list[URLPattern]:
    """Return the URLs of ninja's resources."""
    return [
        pattern
        for pattern in api.urls[0]
        if isinstance(pattern, URLPattern) and pattern.name != "api-root"
    ]


RESOURCES = URLResolver(RegexPattern(r"^"), _resource_urls())


def openapi_schema(prefix: str) -> dict[str, Any]:
    """Return what OpenAPI says of the resources below this path."""
    document = dict(api.get_openapi_schema(path_prefix=prefix))
    document["components"]["schemas"].update(field_schemas())
    return document
