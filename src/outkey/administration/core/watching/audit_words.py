"""Sentences for the audit's tags, about a user or a process."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from outkey.foundation.core.text import Text
from outkey.sending.core.audit.events import ALLOW_REMOVAL, DRY_RUN, ChangeEffect, Tag
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sync.core.line.fields import EVERY_LINE_FIELD

SENTENCES: dict[str, Text] = {
    Tag.CONFIGURATION_CREATED: Text("created the configuration"),
    Tag.CONFIGURATION_UPDATED: Text("changed the configuration"),
    Tag.CONFIGURATION_RENAMED: Text("renamed the configuration"),
    Tag.CONFIGURATION_REMOVED: Text("deleted the configuration"),
    Tag.CONFIGURATION_EXPORTED: Text("exported the configuration"),
    Tag.CONFIGURATION_TESTED: Text("tested the configuration"),
    Tag.CONNECTION_CREATED: Text("created the connection"),
    Tag.CONNECTION_UPDATED: Text("changed the connection"),
    Tag.CONNECTION_PAUSED: Text("paused the connection"),
    Tag.CONNECTION_RESUMED: Text("resumed the connection"),
    Tag.CONNECTION_REMOVED: Text("deleted the connection"),
    Tag.CONNECTION_LINKED: Text("made a link to connect the connection"),
    Tag.CONNECTION_CONNECTED: Text("connected the connection"),
    Tag.LINE_SAVED: Text("saved the sync line"),
    Tag.LINE_RENAMED: Text("renamed the sync line"),
    Tag.LINE_REMOVED: Text("deleted the sync line"),
    Tag.LINE_PAUSED: Text("paused the sync line"),
    Tag.LINE_RESUMED: Text("resumed the sync line"),
    Tag.LINE_SHAPE_ACCEPTED: Text("accepted the new shape of the records"),
    Tag.LINE_RESET: Text("reset the sync line"),
    Tag.LINE_SAMPLED: Text("fetched a sample of the sync line"),
    Tag.LINE_CHECKED: Text("checked the sync line against the API"),
    Tag.DATABASE_SAVED: Text("saved the database"),
    Tag.PAIR_SAVED: Text("saved the pair"),
    Tag.CONFLICT_RESOLVED: Text("resolved a conflict"),
    Tag.PAIR_REMOVED: Text("deleted the pair"),
    Tag.DATA_EXPORTED: Text("exported data"),
    Tag.WEBHOOK_SAVED: Text("saved the webhook"),
    Tag.WEBHOOK_REMOVED: Text("deleted the webhook"),
    Tag.WEBHOOK_PAUSED: Text("paused the webhook"),
    Tag.WEBHOOK_RESUMED: Text("resumed the webhook"),
    Tag.DELIVERY_REPLAYED: Text("processed a delivery again"),
    Tag.DELIVERY_VIEWED: Text("looked at the body of a delivery"),
    Tag.DELIVERIES_REFUSED: Text("refused deliveries"),
    Tag.DELIVERY_TESTED: Text("sent a test delivery"),
    Tag.SECRET_SET: Text("set a secret of"),
    Tag.SECRET_CLEARED: Text("deleted a secret of"),
    Tag.OFFER_VIEWED: Text("looked at the token that a sender offered"),
    Tag.SECRETS_CONFIRMED: Text("confirmed the settings of"),
    Tag.SECRET_STAGED: Text("staged the next secret of"),
    Tag.ROTATION_TESTED: Text("tested the next credentials of"),
    Tag.ROTATION_STARTED: Text("began a trial of the next credentials of"),
    Tag.ROTATION_PROMOTED: Text("put the next credentials into use for"),
    Tag.ROTATION_REFUSED: Text("took the next credentials out of use for"),
    Tag.ROTATION_BACK: Text("went back to the credentials before for"),
    Tag.ROTATION_RETIRED: Text("destroyed the previous credentials of"),
    Tag.ROTATION_DISCARDED: Text("destroyed the next credentials of"),
    Tag.ROTATION_PROBED: Text("checked that the previous credentials are dead for"),
    Tag.ROW_CONFIRMED: Text("accepted what was changed outside of outkey"),
    Tag.ROW_REJECTED: Text("deleted what was changed outside of outkey"),
    Tag.RUN_REQUESTED: Text("started a run of the sync line"),
    Tag.RUN_RETRIED: Text("retried what a run of the sync line rejected"),
    Tag.RUN_CANCELLED: Text("cancelled a run of the sync line"),
    Tag.TOKEN_RENEWED: Text("renewed the token of"),
    Tag.TOKEN_REVOKED: Text("revoked the token of"),
    Tag.TOKEN_FORGOTTEN: Text("deleted the token of"),
    Tag.TOKEN_AUTHORIZED: Text("gave consent at the provider for"),
    Tag.KEY_ADDED: Text("added a key"),
    Tag.KEY_PROMOTED: Text("promoted a key"),
    Tag.KEY_REWRAPPED: Text("rewrapped the secrets"),
    Tag.KEY_RETIRED: Text("retired a key"),
    Tag.KEY_REOPENED: Text("reopened a retired key"),
    Tag.SESSION_BEGAN: Text("signed in"),
    Tag.SESSION_ENDED: Text("signed out"),
    Tag.SESSION_REFUSED: Text("failed to sign in"),
    Tag.SESSIONS_SLOWED: Text("failed so often that sign-ins are slowed down for"),
    Tag.USER_CREATED: Text("created the user"),
    Tag.USER_UPDATED: Text("changed the user"),
    Tag.USER_DELETED: Text("deleted the user"),
    Tag.PASSWORD_SET: Text("set the password of"),
    Tag.API_TOKEN_CREATED: Text("created the API token"),
    Tag.API_TOKEN_REVOKED: Text("revoked the API token"),
    Tag.GROUP_CREATED: Text("created the group"),
    Tag.GROUP_UPDATED: Text("changed the group"),
    Tag.GROUP_DELETED: Text("deleted the group"),
    Tag.PERSON_EXPORTED: Text("exported the data about a user"),
    Tag.PERSON_ERASED: Text("erased the data about a user"),
    Tag.BACKUP_MADE: Text("made a backup"),
    Tag.BACKUP_RESTORED: Text("restored a backup"),
    Tag.INSTALLATION_RESUMED: Text("resumed the restored installation"),
    Tag.AUDIT_EXPORTED: Text("exported the audit"),
    Tag.AUDIT_PRUNED: Text("deleted expired audit records"),
    Tag.SEND_INTENT: Text("sent a request"),
    Tag.SEND_OUTCOME: Text("got a response"),
    Tag.SEND_REFUSED: Text("refused to send a request"),
    Tag.TOKEN_INTENT: Text("requested a token"),
    Tag.TOKEN_OUTCOME: Text("got a response about a token"),
}
SENTENCES_BY_EFFECT: dict[tuple[str, str], Text] = {
    (Tag.LINE_SAVED, ChangeEffect.CREATED): Text("created the sync line"),
    (Tag.SECRET_SET, ChangeEffect.REPLACED): Text("replaced a secret of"),
    (Tag.SESSION_REFUSED, ChangeEffect.COUNTED): Text(
        "failed to sign in; further failures within a minute:"
    ),
    (Tag.SESSION_REFUSED, ChangeEffect.COUNTED_LOCKED): Text(
        "tried to sign in while it was locked; attempts within a minute:"
    ),
}
LINE_TAGS = frozenset(
    {
        Tag.LINE_SAVED,
        Tag.LINE_RENAMED,
        Tag.LINE_REMOVED,
        Tag.LINE_PAUSED,
        Tag.LINE_RESUMED,
        Tag.LINE_SHAPE_ACCEPTED,
        Tag.LINE_RESET,
        Tag.LINE_SAMPLED,
        Tag.LINE_CHECKED,
        Tag.RUN_REQUESTED,
        Tag.RUN_RETRIED,
        Tag.RUN_CANCELLED,
    }
)
RUN_OPTIONS = {
    DRY_RUN: Text("Dry run"),
    ALLOW_REMOVAL: Text("Removal of many records allowed"),
}
LINE_LABELS = {field.path: field.label for field in EVERY_LINE_FIELD}
PEOPLE = "people:"  # how the tags about users and groups begin
PEOPLE_LABELS = {
    "username": Text("Username"),
    "name": Text("Name"),
    "first_name": Text("First name"),
    "last_name": Text("Last name"),
    "email": Text("Email address"),
    "is_active": Text("Active"),
    "is_staff": Text("Staff status"),
    "is_superuser": Text("Superuser status"),
    "groups": Text("Groups"),
    "user_permissions": Text("User permissions"),
    "permissions": Text("Permissions"),
    "password": Text("Password"),
    "password1": Text("Password"),
    "password2": Text("Password"),
    "usable_password": Text("Password"),
}


class Detail(NamedTuple):
    """A changed field with its old and new values; these are empty if not recorded."""

    label: str
    old: str = ""
    new: str = ""


def sentence_of(tag: str, effect: str = "") -> Text:
    """Return the sentence of a tag; the tag itself if it is of a later version."""
    sentence = SENTENCES_BY_EFFECT.get((tag, effect)) or SENTENCES.get(tag)
    return sentence or Text("{tag}", tag=tag)


def subject_of(facts: Mapping[str, object]) -> str:
    """Return the name of what was changed: a line, a configuration, a user or a key."""
    first = next(iter(names_in(facts)), "")
    if facts.get("tag") in LINE_TAGS:
        return first
    key = str(facts.get("key") or "")
    if str(facts.get("tag", "")).startswith(PEOPLE):  # the sentence has the kind
        key = key.removeprefix("user ").removeprefix("group ")
    names = [facts.get("configuration"), facts.get("connection")]
    account = " / ".join(str(name) for name in names if name)
    return account or key or first


def is_about_line(facts: Mapping[str, object]) -> bool:
    """Whether the subject of a record is a sync line."""
    return facts.get("tag") in LINE_TAGS


def details_of(facts: Mapping[str, object]) -> list[Detail]:
    """Return the changed fields by their labels, in the order they were recorded."""
    changes = facts.get("changes")
    tag = str(facts.get("tag", ""))
    is_line = tag in LINE_TAGS
    if isinstance(changes, list) and changes:
        return [
            Detail(_label_of_field(str(part[0]), is_line=is_line), *map(str, part[1:3]))
            for part in changes
            if isinstance(part, list) and part
        ]
    if tag in {Tag.RUN_REQUESTED, Tag.RUN_RETRIED, Tag.RUN_CANCELLED}:
        return [Detail(_label_of_run(name)) for name in names_in(facts)[1:]]
    has_name = facts.get("configuration") or facts.get("key")
    if is_line or not has_name:  # the field is the subject
        return []
    if tag.startswith(PEOPLE):
        return _details_of_person(names_in(facts))
    return [Detail(_label_of_field(name, is_line=False)) for name in names_in(facts)]


def _label_of_run(name: str) -> str:
    """Return the label of a run's option or number, as its record names it."""
    if name.isdecimal():
        return Text("Run {number}", number=name)
    return RUN_OPTIONS.get(name, name)


def _label_of_field(path: str, *, is_line: bool) -> str:
    """Return the label of a field on the pages; its path if it has none."""
    if is_line:
        return LINE_LABELS.get(path, path)
    field = BY_PATH.get(path)
    return field.label if field else path


def _details_of_person(names: Sequence[str]) -> list[Detail]:
    """Return the changed fields of a user or a group, each once."""
    details = dict.fromkeys(_detail_of_person(name) for name in names)
    with_values = {detail.label for detail in details if detail.old or detail.new}
    # A new name is recorded as a field, and with its value.
    return [
        detail
        for detail in details
        if detail.old or detail.new or detail.label not in with_values
    ]


def _detail_of_person(recorded: str) -> Detail:
    """Return a changed field of a user or a group.

    A link is recorded with its sign: `groups +Operator` if it was added.
    """
    name, _, rest = recorded.partition(" ")
    label = PEOPLE_LABELS.get(name, name)
    if rest.startswith("+"):
        return Detail(label, new=rest[1:])
    if rest.startswith("-"):
        return Detail(label, old=rest[1:])
    return Detail(label)


def names_in(facts: Mapping[str, object]) -> list[str]:
    """Return the names of the fields that a record has."""
    fields = facts.get("fields")
    return [str(name) for name in fields] if isinstance(fields, list) else []
