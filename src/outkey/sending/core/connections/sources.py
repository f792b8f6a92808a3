"""Where the value of a variable comes from: a response, a redirect, or a person."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from outkey.foundation.core.errors import ConfigError, SyncFailed
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.connections.variables import (
    check_variable,
    check_variable_name,
    invalid_variable,
    missing_variable,
)

# Returns what finds the value of an expression; the second text is its field.
Compiler = Callable[[str, str], Callable[[object], object]]
# Variables are not secret, and these fields are; with `-`, or without, as some APIs do.
_TOKEN_FIELD = r"(?:access|refresh|id)[_-]?token"  # noqa: S105 - names of fields
_TOKEN_NAME = re.compile(_TOKEN_FIELD, re.IGNORECASE)
# Wherever it stands in an expression: also in a filter that compares names.
_NAMED_TOKEN = re.compile(
    rf"(?<![A-Za-z0-9_]){_TOKEN_FIELD}(?![A-Za-z0-9_])", re.IGNORECASE
)
_SECRET_PARAMETERS = frozenset({"code", "state"})
_MAX_PARAMETER = 100
_PARAMETER = re.compile(r"[A-Za-z0-9._~\[\]-]+")
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})")  # in a quoted name
_SHORTEST_TOKEN = 8  # a shorter one occurs in other values by chance
_MAX_DEPTH = 100


class SourceKind(StrEnum):
    """Where a value comes from."""

    TOKEN = "token"  # noqa: S105 - the token response, not a token
    REDIRECT = "redirect"
    REQUEST = "request"
    ENTERED = "entered"


_WITH_PLACE = frozenset(SourceKind) - {SourceKind.ENTERED}


@dataclass(frozen=True, slots=True)
class VariableSource:
    """The source of a variable.

    `where` is a JMESPath, the name of a parameter, or nothing where it is entered.
    """

    name: str
    kind: SourceKind
    where: str = ""

    @property
    def field(self) -> str:
        """The field of a configuration that has the source."""
        return source_field(self.name)


def source_field(name: str) -> str:
    """Return the field of a configuration that has the source of a variable."""
    return f"connect.variables.{name}"


def parse_source(
    name: object, text: object, field: str, paths: Compiler | None
) -> VariableSource:
    """Return the source of a variable, else raise.

    Without `paths`, whether an expression can be compiled is not checked here.
    """
    name = check_variable_name(name, field)
    word, _, where = text.partition(":") if isinstance(text, str) else ("", "", "")
    if text == SourceKind.ENTERED:
        return VariableSource(name, SourceKind.ENTERED)
    if word not in _WITH_PLACE or not where:
        raise _invalid(field)
    if word == SourceKind.REDIRECT:
        _refuse_parameter(where, field)
        return VariableSource(name, SourceKind.REDIRECT, where)
    _refuse_token_fields(where, field)
    if paths is not None:
        paths(where, field)
    return VariableSource(name, SourceKind(word), where)


def _invalid(field: str) -> ConfigError:
    return ConfigError(
        Text("this is not a source of a variable"),
        hint=Text(
            "Write token:PATH, redirect:PARAMETER, request:PATH (PATH is a JMESPath) or"
            " entered."
        ),
        field=field,
    )


def _refuse_parameter(name: str, field: str) -> None:
    """Refuse a parameter of the redirect that is a secret, or cannot be one at all."""
    if name.lower() in _SECRET_PARAMETERS or _is_token_field(name):
        raise _secret_source(field)
    if len(name) > _MAX_PARAMETER or not _PARAMETER.fullmatch(name):
        raise _invalid(field)


def _refuse_token_fields(expression: str, field: str) -> None:
    """Refuse an expression that names a token; one by `*` finds none in a response."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), expression)
    if _NAMED_TOKEN.search(plain):
        raise _secret_source(field)


def _secret_source(field: str) -> ConfigError:
    return ConfigError(
        Text("a token or code is not a source: variables are not secret"),
        hint=Text("Read another part of the response, such as an ID of the account."),
        field=field,
    )


def find_variable(source: VariableSource, document: object, paths: Compiler) -> object:
    """Return what a source has in a document, None for nothing.

    The document is a parsed response, the parameters of a redirect by their names, or
    entered values by the names of variables. Expressions see no token in it.
    """
    if source.kind in {SourceKind.REDIRECT, SourceKind.ENTERED}:
        key = source.where or source.name
        return document.get(key) if isinstance(document, Mapping) else None
    find = paths(source.where, source.field)
    try:
        return find(_without_tokens(document))
    except SyncFailed:  # the expression does not fit this document
        return None


def read_variable(
    source: VariableSource,
    document: object,
    paths: Compiler,
    *,
    tokens: Iterable[Secret] = (),
) -> str:
    """Return the value that a source has in a document, else raise.

    Nothing and an empty text are `variable_missing`; no error repeats the value.
    `tokens` are what else was read from the response, by paths of a configuration.
    """
    found = find_variable(source, document, paths)
    if found is None or found == "":
        raise missing_variable(source.name)
    value = check_variable(source.name, found)
    # A provider may repeat a token in a field of another name.
    is_token = any(token in value for token in _tokens_in(document))
    if is_token or any(token.occurs_in(value) for token in tokens):
        raise invalid_variable(source.name, Text("it is a token"), source.field)
    return value


def _without_tokens(document: object, depth: int = 0) -> object:
    """Return a copy of a document without tokens, at every depth."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(document, Mapping):
        return {
            name: _without_tokens(value, depth + 1)
            for name, value in document.items()
            if not _is_token_field(name)
        }
    if isinstance(document, list):
        return [_without_tokens(value, depth + 1) for value in document]
    return document


def _tokens_in(document: object, depth: int = 0) -> Iterator[str]:
    """Yield the tokens of a document."""
    if depth > _MAX_DEPTH:
        return
    values: list[object] = document if isinstance(document, list) else []
    if isinstance(document, Mapping):
        values = list(document.values())
        for name in filter(_is_token_field, document):
            token = document[name]
            if isinstance(token, str) and len(token) >= _SHORTEST_TOKEN:
                yield token
    for value in values:
        yield from _tokens_in(value, depth + 1)


def _is_token_field(name: object) -> bool:
    return isinstance(name, str) and _TOKEN_NAME.fullmatch(name) is not None
