"""The records of the audit: allow-listed facts, never a secret, body or query."""

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Request, Source


class Durability(StrEnum):
    """The level that the operator chooses; both require a record before a send."""

    PROCESS = "process"  # a killed process
    POWER = "power"  # a power failure as well


# The outcome of a request without credentials that a server refused, as Digest begins
# and as a connection test proves that credentials are needed. It is no failure.
CHALLENGED = "challenged"
# What a connection test sends without credentials, next to the request with them.
COMPARISON = "comparison"
DRAFT = " (draft)"
# What a run may do, as its record names it after the line.
DRY_RUN = "dry_run"
ALLOW_REMOVAL = "allow_removal"
WORD = re.compile(r"v\d{1,2}|[a-z][a-z_.-]{0,31}|", re.IGNORECASE)


class Tag(StrEnum):
    """The kind of an event, as `source:subject:action`."""

    SEND_INTENT = "engine:send:intended"
    SEND_OUTCOME = "engine:send:ended"
    SEND_REFUSED = "engine:send:refused"
    TOKEN_INTENT = "engine:token:intended"  # noqa: S105 - the name of an event
    TOKEN_OUTCOME = "engine:token:ended"  # noqa: S105 - the name of an event
    CONFIGURATION_CREATED = "api:configuration:created"
    CONFIGURATION_UPDATED = "api:configuration:updated"
    CONFIGURATION_RENAMED = "api:configuration:renamed"
    CONFIGURATION_REMOVED = "api:configuration:removed"
    CONFIGURATION_EXPORTED = "api:configuration:exported"
    CONFIGURATION_TESTED = "api:configuration:tested"
    CONNECTION_CREATED = "api:connection:created"
    CONNECTION_UPDATED = "api:connection:updated"
    CONNECTION_PAUSED = "api:connection:paused"
    CONNECTION_RESUMED = "api:connection:resumed"
    CONNECTION_REMOVED = "api:connection:removed"
    CONNECTION_LINKED = "api:connection:linked"
    CONNECTION_CONNECTED = "api:connection:connected"
    LINE_SAVED = "api:line:kept"
    LINE_RENAMED = "api:line:renamed"
    LINE_REMOVED = "api:line:removed"
    LINE_PAUSED = "api:line:paused"
    LINE_RESUMED = "api:line:resumed"
    LINE_SHAPE_ACCEPTED = "api:line:shape_accepted"
    LINE_RESET = "api:line:reset"
    LINE_SAMPLED = "api:line:sampled"
    LINE_CHECKED = "api:line:checked"
    DATABASE_SAVED = "api:database:kept"
    PAIR_SAVED = "api:pair:kept"
    CONFLICT_RESOLVED = "api:conflict:resolved"
    PAIR_REMOVED = "api:pair:removed"
    DATA_EXPORTED = "api:data:exported"
    WEBHOOK_SAVED = "api:webhook:kept"
    WEBHOOK_REMOVED = "api:webhook:removed"
    WEBHOOK_PAUSED = "api:webhook:paused"
    WEBHOOK_RESUMED = "api:webhook:resumed"
    DELIVERY_REPLAYED = "api:delivery:replayed"
    DELIVERY_VIEWED = "api:delivery:viewed"
    DELIVERIES_REFUSED = "hooks:delivery:refused"
    DELIVERY_TESTED = "hooks:delivery:tested"
    SECRET_SET = "api:secret:set"  # noqa: S105 - the name of an event
    SECRET_CLEARED = "api:secret:cleared"  # noqa: S105 - the name of an event
    OFFER_VIEWED = "api:offer:viewed"
    SECRETS_CONFIRMED = "api:secret:confirmed"
    SECRET_STAGED = "api:secret:staged"  # noqa: S105 - the name of an event
    ROTATION_TESTED = "api:rotation:tested"
    ROTATION_STARTED = "api:rotation:started"
    ROTATION_PROMOTED = "api:rotation:promoted"
    ROTATION_REFUSED = "api:rotation:refused"
    ROTATION_BACK = "api:rotation:back"
    ROTATION_RETIRED = "api:rotation:retired"
    ROTATION_DISCARDED = "api:rotation:discarded"
    ROTATION_PROBED = "api:rotation:probed"
    ROW_CONFIRMED = "api:row:confirmed"
    ROW_REJECTED = "api:row:rejected"
    RUN_REQUESTED = "api:run:requested"
    RUN_RETRIED = "api:run:retried"
    RUN_CANCELLED = "api:run:cancelled"
    TOKEN_RENEWED = "api:token:renewed"  # noqa: S105 - the name of an event
    TOKEN_REVOKED = "api:token:revoked"  # noqa: S105 - the name of an event
    TOKEN_FORGOTTEN = "api:token:forgotten"  # noqa: S105 - the name of an event
    TOKEN_AUTHORIZED = "api:token:authorized"  # noqa: S105 - the name of an event
    KEY_ADDED = "keys:key:added"
    KEY_PROMOTED = "keys:key:promoted"
    KEY_REWRAPPED = "keys:key:rewrapped"
    KEY_RETIRED = "keys:key:retired"
    KEY_REOPENED = "keys:key:reopened"
    SESSION_BEGAN = "people:session:began"
    SESSION_ENDED = "people:session:ended"
    SESSION_REFUSED = "people:session:refused"
    SESSIONS_SLOWED = "people:session:slowed"
    USER_CREATED = "people:user:created"
    USER_UPDATED = "people:user:updated"
    USER_DELETED = "people:user:deleted"
    PASSWORD_SET = "people:password:set"  # noqa: S105 - the name of an event
    API_TOKEN_CREATED = "people:api_token:created"  # noqa: S105 - the name of an event
    API_TOKEN_REVOKED = "people:api_token:revoked"  # noqa: S105 - the name of an event
    GROUP_CREATED = "people:group:created"
    GROUP_UPDATED = "people:group:updated"
    GROUP_DELETED = "people:group:deleted"
    PERSON_EXPORTED = "people:account:exported"
    PERSON_ERASED = "people:account:erased"
    BACKUP_MADE = "audit:backup:made"
    BACKUP_RESTORED = "audit:backup:restored"
    INSTALLATION_RESUMED = "audit:installation:resumed"
    AUDIT_EXPORTED = "audit:records:exported"
    AUDIT_PRUNED = "audit:records:pruned"


class ChangeEffect(StrEnum):
    """The effect of a change on its subject, where its tag does not state it."""

    CREATED = "created"  # there was none before
    REPLACED = "replaced"
    # Events of one minute, whose number is the field.
    COUNTED = "counted"
    COUNTED_LOCKED = "counted_locked"  # while the sign-in was locked


class SecretSource(NamedTuple):
    """Where a secret came from, if that was an external store; never its value."""

    field: str
    backend: str
    path: str  # "" where the operator has declared it private
    version: str
    cached: bool
    ms: int

    def facts(self) -> dict[str, object]:
        """Return the recorded facts."""
        facts = self._asdict()
        if not self.path:
            del facts["path"]
        return facts


class Intent(NamedTuple):
    """Credentials are about to be sent. Without this record, nothing is sent.

    `purpose` is recorded only of a request that a connection test sends without
    credentials: `comparison`. The actor is known where a program sends with an API
    token. The serial is that of the credentials, from the first rotation on; `sources`
    are the external stores that they came from.
    """

    configuration: str
    line: str
    authentication_type: str
    method: str
    origin: str
    path: str
    header_names: tuple[str, ...]
    retry: int
    tag: Tag = Tag.SEND_INTENT
    purpose: str = ""
    actor: str = ""
    serial: int = 0  # of the credentials, once there was more than one set of them
    sources: tuple[SecretSource, ...] = ()  # where external stores were used
    connection: str = ""  # the account, under a configuration that has several

    def facts(self) -> dict[str, object]:
        """Return the recorded facts; most requests have none of the last five."""
        facts = self._asdict()
        for name in ("purpose", "actor", "serial", "sources", "connection"):
            if not facts[name]:
                del facts[name]
        if self.sources:
            facts["sources"] = [source.facts() for source in self.sources]
        return facts


class Outcome(NamedTuple):
    """How an attempt ended. Status 0 means that there was no response."""

    attempt: str
    configuration: str
    status: int
    outcome: str
    duration_ms: int
    tag: Tag = Tag.SEND_OUTCOME
    connection: str = ""


class Refusal(NamedTuple):
    """outkey refused to send, or to follow a redirect."""

    attempt: str  # the last one that was made, if any
    configuration: str
    line: str
    code: str
    tag: Tag = Tag.SEND_REFUSED
    actor: str = ""
    connection: str = ""


class Change(NamedTuple):
    """A user is about to change or export stored data.

    `changes` has the fields with their old and new values, as far as no secret can be
    in them: `changed_values` decides that. `effect` is `created` for a new line or
    secret, and `replaced` for a secret that had a value; failed sign-ins are `counted`.
    The serial is that of the credentials that a step of a rotation is about; `good` and
    `refused` are the results of their trial. Without an actor outkey took the step.
    """

    tag: Tag
    actor: str
    configuration: str = ""
    fields: tuple[str, ...] = ()
    key: str = ""
    changes: tuple[tuple[str, str, str], ...] = ()
    effect: str = ""
    numbers: tuple[tuple[str, int], ...] = ()  # of a rotation, by their names
    connection: str = ""

    def facts(self) -> dict[str, object]:
        """Return the recorded facts."""
        facts = self._asdict()
        numbers = facts.pop("numbers")
        if not self.connection:
            del facts["connection"]  # most changes have none
        return facts | dict(numbers)


def draft_name(configuration: str) -> str:
    """Return the name that requests of unsaved values are recorded under."""
    return f"{configuration}{DRAFT}"


@lru_cache(maxsize=1024)
def path_template(target: str) -> str:
    """Return the path with `{}` for every segment that may be an id, a key or a name.

    Plain words and version numbers stay, which is what API paths consist of.
    """
    segments = target.partition("?")[0].split("/")
    return "/".join(
        segment if WORD.fullmatch(segment) else "{}" for segment in segments
    )


def redirected_path_template(target: str, requested: str) -> str:
    """Return the path of a redirect, with `{}` for segments that were not requested.

    The server chose the path, and a plain word of it may be a short secret.
    """
    requested_segments = path_template(requested).split("/")
    segments = target.partition("?")[0].split("/")
    return "/".join(
        segment if segment in requested_segments else "{}" for segment in segments
    )


def intent_of(
    configuration: Configuration,
    line: str,
    request: Request,
    retry: int,
    tag: Tag,
    *,
    actor: str = "",
) -> Intent:
    """Describe a request that is about to be sent, without its query and its values."""
    script = Source.SCRIPT  # looked up once: each look-up of a member is a call
    # A script chooses its names, and could encode its secret in them.
    header_names = [
        "(script)" if source is script else name for name, _, source in request.headers
    ]
    return Intent(
        configuration=configuration.name,
        line=line,
        authentication_type=str(configuration.authentication_type),
        method=request.method,
        origin=str(request.origin),
        path=path_template(request.target),
        header_names=tuple(header_names),
        retry=retry,
        tag=tag,
        actor=actor,
        serial=configuration.serial if configuration.sets.is_used else 0,
        connection=configuration.connection_id,
    )
