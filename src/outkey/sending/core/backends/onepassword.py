"""1Password Connect: fields of an item in a vault, both found by their names.

https://developer.1password.com/docs/connect/api-reference
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from urllib.parse import quote

from outkey.foundation.core.secret import Secret
from outkey.sending.core.backends.settings import Backend
from outkey.sending.core.backends.store import (
    Moment,
    Session,
    StoreSteps,
    address_of,
    bearer,
    checked_version,
    fail,
    json_object,
    member,
    no_renewal,
    parsed_json,
    refuse_outage,
    store_request,
)
from outkey.sending.core.backends.values import (
    NamedFields,
    StoredValue,
    StoreKey,
    refuse_value,
)
from outkey.sending.core.request.message import Response

# Ids are in lower case; a title of this form has to be named by its id.
_ID = re.compile(r"[a-z0-9]{26}")
_GONE = ("ARCHIVED", "DELETED")
renew = no_renewal


def log_in(
    backend: Backend, credentials: Mapping[str, Secret], moment: Moment
) -> StoreSteps[Session]:
    """Return a session: the token of a Connect server has no end."""
    del backend, moment
    yield from ()
    return Session(credentials["token"].derive(str.strip))


def read(key: StoreKey, session: Session, moment: Moment) -> StoreSteps[StoredValue]:
    """Read an item; its vault and it are found by name first, if they are no ids."""
    del moment
    if len(key.path) != 2:
        refuse_value("secret-absent", key.backend)
    vault, title = key.path
    vault_id = yield from _find("/v1/vaults", "name", vault, key, session)
    items = f"/v1/vaults/{vault_id}/items"
    item_id = yield from _find(items, "title", title, key, session)
    document = json_object((yield from _get(f"{items}/{item_id}", key, session)))
    version = document.get("version")
    is_right = (
        document.get("id") == item_id
        and member(document, "vault", "id") == vault_id
        and title in (item_id, document.get("title"))  # which may be anything
    )
    if not is_right or type(version) is not int:
        fail("backend-unreachable", key.backend)
    if document.get("state") in _GONE:
        refuse_value("secret-deleted", key.backend)
    named = _fields(document.get("fields"), key.backend)
    return NamedFields(named, checked_version(version, key.backend))


def _find(
    path: str, name: str, wanted: str, key: StoreKey, session: Session
) -> StoreSteps[str]:
    """Return the id of the one vault or item of a name, or refuse."""
    if _ID.fullmatch(wanted):
        return wanted
    # A text in a filter of SCIM is one of JSON (RFC 7644 §3.4.2.2).
    condition = quote(f"{name} eq {json.dumps(wanted, ensure_ascii=False)}", safe="")
    response = yield from _get(f"{path}?filter={condition}", key, session)
    matches = parsed_json(response)
    if not isinstance(matches, list):
        fail("backend-unreachable", key.backend)
    # The server may compare without regard to case.
    ids = [member(each, "id") for each in matches if member(each, name) == wanted]
    if not ids:
        refuse_value("secret-absent", key.backend)
    if len(ids) > 1:
        refuse_value("title-ambiguous", key.backend)
    [identifier] = ids
    if not isinstance(identifier, str) or not _ID.fullmatch(identifier):
        fail("backend-unreachable", key.backend)
    return identifier


def _get(path: str, key: StoreKey, session: Session) -> StoreSteps[Response]:
    """Return the response to a read that succeeded."""
    backend = key.backend
    headers = bearer(session.token)
    response: Response = yield store_request("GET", address_of(backend), path, headers)
    refuse_outage(response, backend)
    if response.status == 401:
        fail("backend-login", backend)
    if response.status == 403:
        refuse_value("backend-denied", backend)
    if response.status == 404:
        refuse_value("secret-absent", backend)
    if response.status != 200:
        fail("backend-unreachable", backend)
    return response


def _fields(fields: object, backend: Backend) -> dict[str, Secret | None]:
    """Return the fields of an item by their labels, and by their ids.

    A label that several fields have names none of them.
    """
    if not isinstance(fields, list):
        fail("backend-unreachable", backend)
    texts = (member(each, "label") for each in fields)
    labels = Counter(text for text in texts if isinstance(text, str))
    named: dict[str, Secret | None] = {}
    for name in ("id", "label"):  # a label wins over the id of another field
        for each in fields:
            text = member(each, name)
            if isinstance(text, str) and (name == "id" or labels[text] == 1):
                named[text] = _secret(each)
    return named


def _secret(field: Mapping[str, object]) -> Secret | None:
    value = field.get("value", "")  # an empty field has none
    return Secret(value) if isinstance(value, str) else None
