"""What is recorded of an attempt: an allow-list of facts, never a value, body or query."""

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from outkey.core.config.configuration import Configuration
from outkey.core.request.message import Request, Source

_WORD = re.compile(r"v\d{1,2}|[a-z][a-z_.-]{0,31}|", re.IGNORECASE)


class Tag(StrEnum):
    """What happened, as `source:subject:action`."""

    SEND_INTENT = "engine:send:intended"
    SEND_OUTCOME = "engine:send:ended"
    SEND_REFUSED = "engine:send:refused"
    TOKEN_INTENT = "engine:token:intended"  # noqa: S105 - the name of an event
    TOKEN_OUTCOME = "engine:token:ended"  # noqa: S105 - the name of an event
    CONFIGURATION_CREATED = "api:configuration:created"
    CONFIGURATION_UPDATED = "api:configuration:updated"
    CONFIGURATION_REMOVED = "api:configuration:removed"
    CONFIGURATION_EXPORTED = "api:configuration:exported"
    CONFIGURATION_TESTED = "api:configuration:tested"
    LINE_KEPT = "api:line:kept"
    LINE_REMOVED = "api:line:removed"
    SECRET_SET = "api:secret:set"  # noqa: S105 - the name of an event
    SECRET_CLEARED = "api:secret:cleared"  # noqa: S105 - the name of an event
    SECRETS_CONFIRMED = "api:secret:confirmed"
    TOKEN_RENEWED = "api:token:renewed"  # noqa: S105 - the name of an event
    TOKEN_REVOKED = "api:token:revoked"  # noqa: S105 - the name of an event
    TOKEN_FORGOTTEN = "api:token:forgotten"  # noqa: S105 - the name of an event
    TOKEN_AUTHORIZED = "api:token:authorized"  # noqa: S105 - the name of an event
    KEY_ADDED = "keys:key:added"
    KEY_PROMOTED = "keys:key:promoted"
    KEY_REWRAPPED = "keys:key:rewrapped"
    KEY_RETIRED = "keys:key:retired"
    SESSION_BEGAN = "people:session:began"
    SESSION_ENDED = "people:session:ended"
    SESSION_REFUSED = "people:session:refused"
    USER_CREATED = "people:user:created"
    USER_UPDATED = "people:user:updated"
    USER_DELETED = "people:user:deleted"
    PASSWORD_SET = "people:password:set"  # noqa: S105 - the name of an event
    GROUP_CREATED = "people:group:created"
    GROUP_UPDATED = "people:group:updated"
    GROUP_DELETED = "people:group:deleted"
    PERSON_EXPORTED = "people:account:exported"
    PERSON_ERASED = "people:account:erased"
    AUDIT_EXPORTED = "audit:records:exported"
    AUDIT_PRUNED = "audit:records:pruned"


class Intent(NamedTuple):
    """Credentials are about to leave. Recorded first, or nothing is sent."""

    configuration: str
    line: str
    authentication_type: str
    method: str
    origin: str
    path: str
    header_names: tuple[str, ...]
    retry: int
    tag: Tag = Tag.SEND_INTENT


class Outcome(NamedTuple):
    """How an attempt ended. Status 0 means that no answer came."""

    attempt: str
    configuration: str
    status: int
    outcome: str
    duration_ms: int
    tag: Tag = Tag.SEND_OUTCOME


class Refusal(NamedTuple):
    """outkey refused to send, or to follow where an answer led."""

    attempt: str  # the last one that was made, if any
    configuration: str
    line: str
    code: str
    tag: Tag = Tag.SEND_REFUSED


class Change(NamedTuple):
    """Somebody is about to change or read out what is kept. Field names only, never values."""

    tag: Tag
    actor: str
    configuration: str = ""
    fields: tuple[str, ...] = ()
    key: str = ""


@lru_cache(maxsize=1024)
def path_template(target: str) -> str:
    """Return the path with `{}` for every segment that may be a value: an id, a key, a name.

    Kept are plain words and version numbers, which is what API paths are made of.
    """
    segments = target.partition("?")[0].split("/")
    return "/".join(s if _WORD.fullmatch(s) else "{}" for s in segments)


def redirected_path_template(target: str, requested: str) -> str:
    """Return the path of a redirect, with `{}` for every segment that the request did not have.

    The server chose the path and may have written a short secret into it as a plain word.
    """
    known = path_template(requested).split("/")
    segments = target.partition("?")[0].split("/")
    return "/".join(segment if segment in known else "{}" for segment in segments)


def intent_of(
    made: Configuration, line: str, request: Request, retry: int, tag: Tag
) -> Intent:
    """Describe a request that is about to leave, without its query and its values."""
    # A script chooses its names, and could write its secret into them in a form nobody knows.
    named = [
        "(script)" if h.source is Source.SCRIPT else h.name for h in request.headers
    ]
    kind, path = str(made.authentication_type), path_template(request.target)
    where = request.method, str(request.origin), path
    return Intent(made.name, line, kind, *where, tuple(named), retry, tag)
