"""URLs with variables: at the very beginning, in the host, or in the path.

The parts of a URL are found in the template, before any value is known, so that no
value can be a host where the template has a path.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.origin import parse_endpoint
from outkey.foundation.core.placeholders import PLACEHOLDER, placeholders_in
from outkey.foundation.core.text import Text
from outkey.sending.core.connections.variables import (
    Values,
    fill_segments,
    invalid_variable,
    query_placeholder,
    refuse_undeclared,
    value_of,
)
from outkey.sending.core.request.dot_segments import has_parent_segment

# Scheme, host, what follows it up to the path (a port, or what is refused), path, rest.
_URL = re.compile(r"([^:/?#]*)://([^/?#:\[@]*)([^/?#]*)([^?#]*)(.*)", re.DOTALL)
_TO_PATH = re.compile(r"\A(?:[^/?#]*//)?[^/?#]*")
_HOST_VALUE = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_IDN = "xn--"
_INVALID_HOST = Text("the host name is invalid")
_SAMPLE_URL = "https://x.example"


@dataclass(frozen=True, slots=True)
class UrlTemplate:
    """The parts of a URL with placeholders; with `base` it has no scheme and host."""

    base: str  # the variable at the beginning
    scheme: str
    host: str
    port: str  # with its colon
    path: str
    query: str  # with its question mark


def changes_origin(template: str) -> bool:
    """Whether a placeholder can change the origin of a URL."""
    origin = template[: len(template) - len(_TO_PATH.sub("", template))]
    return bool(placeholders_in(origin))


def check_url_template(template: str, declared: Collection[str], field: str) -> str:
    """Return a URL with placeholders to be saved, else raise."""
    refuse_undeclared(template, declared, field)
    if placeholders_in(template):
        parse_url_template(template, field)
    return template


@lru_cache(maxsize=1024)
def parse_url_template(template: str, field: str) -> UrlTemplate:
    """Return the parts of a URL, or refuse a placeholder where none may be."""
    first = PLACEHOLDER.match(template)
    # A scheme and a host of its own: all that follows can only be a path.
    text = f"{_SAMPLE_URL}{template[first.end() :]}" if first else template
    parts = _URL.fullmatch(text)
    if parts is None:
        raise ConfigError(
            Text("the URL must start with https:// or http://, or with a variable"),
            field=field,
        )
    scheme, host, port, path, query = parts.groups()
    if first and (host, port) != (_SAMPLE_URL.partition("://")[2], ""):
        raise ConfigError(
            Text("only a path may follow the variable at the beginning of the URL"),
            hint=Text("Write the URL as {example}.", example="{instance_url}/v2"),
            field=field,
        )
    if placeholders_in(scheme, port):
        raise ConfigError(
            Text("a variable may not be the scheme, a user or the port of a URL"),
            field=field,
        )
    for name in placeholders_in(query):
        raise query_placeholder(name, field)
    sample = PLACEHOLDER.sub("x", text)
    if "{" in sample or "}" in sample:
        raise ConfigError(
            Text("the URL has a brace that belongs to no variable"), field=field
        )
    parse_endpoint(sample, field)
    if first:
        return UrlTemplate(first[1], "", "", "", path, query)
    return UrlTemplate("", scheme, host, port, path, query)


def fill_url(template: str, values: Values, field: str) -> str:
    """Return a URL with its variables, in canonical form, else raise.

    Its origin is whatever the values make of it: `refuse_foreign` decides about that.
    """
    if "{" not in template:
        return template
    url = parse_url_template(template, field)
    declared = placeholders_in(url.path)
    path = fill_segments(url.path, values, declared=declared, field=field)
    if url.base:
        base = _base_value(url.base, values, field)
        # Either has the slash between the two; `https://a.example/` is usual.
        start = base.rstrip("/") if path else base
    else:
        start = f"{url.scheme}://{_fill_host(url.host, values, field)}{url.port}"
    try:
        return str(parse_endpoint(f"{start}{path}{url.query}", field))
    except ConfigError:  # the template was parsed, so it is the host
        name = placeholders_in(url.host)[0]
        raise invalid_variable(name, _INVALID_HOST, field) from None


def _base_value(name: str, values: Values, field: str) -> str:
    """Return the value at the beginning of a URL, an absolute URL without a query."""
    value = value_of(name, values)
    problem = Text("it is not an absolute URL without user, query and fragment")
    host = value.partition("://")[2].partition("/")[0].partition(":")[0]
    try:
        location = parse_endpoint(value, field)
    except ConfigError:
        # Its error is about a field of a configuration, and says how to correct that.
        raise invalid_variable(name, problem, field) from None
    if "?" in value or host.endswith("."):
        raise invalid_variable(name, problem, field)
    if not value.isascii():
        problem = Text("the URL has a character outside ASCII")
        raise invalid_variable(name, problem, field)
    if has_parent_segment(location.target):
        problem = Text("it leads the path elsewhere")
        raise invalid_variable(name, problem, field)
    return str(location)


def _fill_host(template: str, values: Values, field: str) -> str:
    """Return the host of a URL with its variables."""
    names = placeholders_in(template)
    if not names:
        return template
    texts = {name: value_of(name, values) for name in names}
    for name, text in texts.items():
        if not _HOST_VALUE.fullmatch(text):
            problem = Text("a host has only letters, digits, - and .")
            raise invalid_variable(name, problem, field)
    host = PLACEHOLDER.sub(lambda match: texts[match[1]], template).lower()
    # A label `xn--…` stands for letters outside ASCII: only the template may have one.
    labels = {label for label in host.split(".") if label.startswith(_IDN)}
    if not labels <= {*template.lower().split(".")}:
        raise invalid_variable(names[0], _INVALID_HOST, field)
    return host
