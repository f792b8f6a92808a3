"""Which permissions an edit or a test of a webhook needs: those of what it causes.

A user without `set_secret` must neither choose how a stored secret is used nor accept
deliveries that prove less. What a delivery starts, or requests with credentials, needs
the permissions that the same user needs on other pages.
"""

from collections.abc import Collection, Iterator, Mapping

from outkey.foundation.core.permission import Permission, Requirement
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Sync
from outkey.sync.core.mapping.shape import is_made_by_outkey
from outkey.webhooks.core.schemes.scheme import VerificationKind
from outkey.webhooks.core.settings.section import webhook_table
from outkey.webhooks.core.settings.settings import Webhook, scheme_of

_ADD = Text("you may not add webhooks")
_CHANGE = Text("you may not change webhooks")
_SECRET = Text("you may not enter or clear secrets")
_VERIFICATION = Text("you may not change how deliveries are verified")
_RUN = Text("you may not let deliveries start runs of sync lines, or write by them")
_FETCH = Text("you may not send requests with the credentials of the configuration")
_TABLE = Text("you may not change sync lines, so you may not write to their tables")
_RECORDS = Text(
    "you may not change sync lines, so you may not choose what is written to their "
    "tables"
)

EVERYTHING = Webhook("", "").records  # that the sender sends, by default
VERIFY = (Permission.SET_SECRET,)
# A line of one's own can send the same request.
FETCH = (Permission.ADD_LINE, Permission.RUN_LINE)
# What a change of each field needs besides the permission to change webhooks. A field
# without a rule needs `set_secret`.
RULES: Mapping[str, tuple[Permission, ...]] = {
    # How the secret is used, and what a delivery proves with it.
    "scheme": VERIFY,
    "secret": VERIFY,
    "previous_secret": VERIFY,
    "verify_token": VERIFY,
    "tolerance_seconds": VERIFY,  # how long a captured delivery can be sent again
    "reason": VERIFY,
    "topic": VERIFY,  # whose deliveries are accepted
    "webhook_id": VERIFY,
    "signature_header": VERIFY,
    "signature_prefix": VERIFY,
    "algorithm": VERIFY,
    "encoding": VERIFY,
    "signed": VERIFY,
    "timestamp_header": VERIFY,
    "id_header": VERIFY,  # which delivery is recognized as a duplicate
    "id": VERIFY,
    "token_header": VERIFY,
    "username": VERIFY,
    # What a delivery causes. The rights on records are those of the host.
    "line": (Permission.RUN_LINE,),
    "run": (Permission.RUN_LINE,),
    "confirm": FETCH,
    "confirm_id": FETCH,
    "configuration": (),  # `fetches_elsewhere` looks at it
    "handler": (),  # only functions that the operator has listed
    "records": (),  # `chooses_records` looks at it
}
MESSAGES = {
    **dict.fromkeys(("line", "run"), _RUN),
    **dict.fromkeys(("confirm", "confirm_id"), _FETCH),
}


def webhook_requirements(
    stored: Webhook | None,
    edited: Webhook,
    secrets: Collection[str] = (),
    sync: Sync | None = None,
) -> Iterator[Requirement]:
    """Yield the permissions needed to replace `stored` (None: a new one) by `edited`.

    `secrets` names the secrets that are entered along with it, `sync` is that of the
    edited webhook's line. The rights on models are those of the host.
    """
    if stored is None:
        yield Requirement(Permission.ADD_WEBHOOK, "name", _ADD)
    else:
        yield Requirement(Permission.CHANGE_WEBHOOK, "name", _CHANGE)
    for name in sorted(secrets):
        yield Requirement(Permission.SET_SECRET, name, _SECRET)
    for key in changed_keys(stored, edited):
        for permission in RULES.get(key, VERIFY):
            yield Requirement(permission, key, MESSAGES.get(key, _VERIFICATION))
    if fetches_elsewhere(stored, edited):
        for permission in FETCH:
            yield Requirement(permission, "configuration", _FETCH)
    if chooses_records(stored, edited) and writes_tables(edited, sync):
        yield Requirement(Permission.CHANGE_LINE, "records", _RECORDS)


def changed_keys(stored: Webhook | None, edited: Webhook) -> Iterator[str]:
    """Yield the settings that differ, and whose change needs a permission.

    A new webhook has no secret yet that a scheme could use: it may state how deliveries
    are verified, but not that they are not.
    """
    before = webhook_table(stored) if stored else {}
    after = webhook_table(edited)
    for key in {**before, **after}:
        if before.get(key) == after.get(key):
            continue
        is_new_proof = stored is None and RULES.get(key, VERIFY) == VERIFY
        if not is_new_proof or (key == "scheme" and is_unverified(edited)):
            yield key


def is_unverified(webhook: Webhook) -> bool:
    """Whether deliveries are accepted without any proof of their sender."""
    scheme = scheme_of(webhook)
    return scheme is not None and scheme.kind is VerificationKind.UNVERIFIED


def fetches_elsewhere(stored: Webhook | None, edited: Webhook) -> bool:
    """Whether objects are fetched, with other credentials than before."""
    source = (edited.configuration, edited.line)
    return bool(edited.confirm) and (
        stored is None or source != (stored.configuration, stored.line)
    )


def chooses_records(stored: Webhook | None, edited: Webhook) -> bool:
    """Whether an expression finds other records than before, or for another line.

    An expression can have records of its own, whatever the sender sends.
    """
    records = stored.records if stored else EVERYTHING
    line = stored.line if stored else ""
    if edited.records != records:
        return True
    return edited.line != line and edited.records != EVERYTHING


def requirements_of_test(webhook: Webhook, sync: Sync | None) -> Iterator[Requirement]:
    """Yield the permissions for a test delivery: it states what only the sender may.

    `sync` is that of the webhook's line. The rights on models are those of the host.
    """
    yield Requirement(Permission.CHANGE_WEBHOOK, "name", _CHANGE)
    if webhook.run:
        yield Requirement(Permission.RUN_LINE, "run", _RUN)
    if writes_tables(webhook, sync):
        yield Requirement(Permission.CHANGE_LINE, "line", _TABLE)
    if webhook.confirm:
        for permission in FETCH:
            yield Requirement(permission, "confirm", _FETCH)


def writes_tables(webhook: Webhook, sync: Sync | None) -> bool:
    """Whether deliveries are written to tables, on which no right of the host is."""
    if not webhook.line or sync is None:
        return False
    targets = (sync.target, *(children.target for children in sync.children))
    return any(is_made_by_outkey(target) for target in targets)
