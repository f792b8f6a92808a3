"""Whether a request only reads: by its method, or by the procedure that it names.

A connection test may repeat such a request. Where nothing names a procedure that
reads, a request is taken for one that writes.
"""

import re

from outkey.foundation.core.errors import ConfigError
from outkey.importing.core.readers.tree import read_json
from outkey.importing.core.seen import SeenRequest
from outkey.sending.core.configuration.body_credentials import (
    credentials_in_body,
    text_members,
)

_LONGEST_BODY = 16_384
# RFC 9110 §9.2.1, RFC 4918 §9.1, RFC 3253 §3.6
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "PROPFIND", "REPORT"})
# The word that a procedure begins with, such as listOrders, system.version, who.
_READING = (
    r"(?:list|get|describe|query|scan|search|find|read|show|count|status|version|info"
    r"|ping|who|echo|lookup|fetch|browse|select|whoami)"
)
_PROCEDURE = re.compile(
    rf"(?:[A-Za-z0-9_]+[./:_-])*{_READING}(?:[A-Z0-9._/:-].*|s|)", re.ASCII
)
_QUERY_PATH = re.compile(
    r"/_?(?:search|query|list|find|count|lookup|graphql)/?$", re.IGNORECASE
)
# Statements of SQL, InfluxQL and GraphQL that change something.
_WRITING = re.compile(
    r"\s*(?:mutation|subscription|create|drop|delete|insert|update|alter|grant|revoke"
    r"|set|kill|merge|truncate|into)\b",
    re.IGNORECASE,
)
_NAMES = ("method", "action", "cmd", "command", "operation", "methodName")


def only_reads(request: SeenRequest, path: str) -> bool:
    """Whether a request names a procedure that reads, and has no credential."""
    body = request.body
    if not body and request.method in SAFE_METHODS:
        return True
    is_possible = 0 < len(body) <= _LONGEST_BODY
    if not is_possible or credentials_in_body(body, with_placeholders=True):
        return False
    override = request.header("X-HTTP-Method-Override").upper()
    if {request.method, override} & SAFE_METHODS:
        return True
    # DynamoDB and other APIs of AWS: DynamoDB_20120810.ListTables
    target = request.header("X-Amz-Target").rpartition(".")[2]
    names = [target] if target else _procedures_in(_tree_of(body))
    if names:
        return all(map(_is_reading, names))
    texts = [member.value for member in text_members(body)]
    return bool(_QUERY_PATH.search(path)) and not any(map(_WRITING.match, texts))


def _tree_of(body: str) -> object:
    """Return the JSON of a body, None for any other body."""
    try:
        return read_json(body)
    except ConfigError:
        return None


def _is_reading(name: str) -> bool:
    """Whether the name of a procedure begins with a word for reading."""
    return _PROCEDURE.fullmatch(name[:1].lower() + name[1:]) is not None


def _procedures_in(tree: object) -> list[str]:
    """Return the procedures that a call names: JSON-RPC, or lists as of doveadm."""
    if isinstance(tree, dict):
        values = [tree.get(name) for name in _NAMES]
        return [value for value in values if isinstance(value, str)]
    if not isinstance(tree, list):
        return []
    names = []
    for part in tree:
        if isinstance(part, list) and part and isinstance(part[0], str):
            names.append(part[0])
        elif isinstance(part, dict):
            names += _procedures_in(part)
    return names
