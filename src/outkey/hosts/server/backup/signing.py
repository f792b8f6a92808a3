"""Signatures of backups: a keyed code over the manifest, and so over every member.

A backup decides where secrets go: its policy names proxies, and its checkpoints prove
the audit. So it must have been made with the key.
"""

import hashlib
import hmac
import json
from dataclasses import asdict, replace
from pathlib import Path

from outkey.foundation.core.errors import ConfigError, OutkeyError, Sealed
from outkey.foundation.core.text import Text
from outkey.hosts.server.backup.archive import Manifest
from outkey.sending.adapters.secrets.keyring import Keyring

_PURPOSE = "backup"  # of the key that is derived
_UNSIGNED = Text(
    "If you are sure that the file was not changed, restore it with --unsigned: then"
    " the policy of this home stays as it is."
)


def sign(manifest: Manifest, ring: Keyring) -> Manifest:
    """Return the manifest with the name of the primary key, and its code."""
    named = replace(manifest, key=ring.primary.name)
    return replace(named, code=code_of(named, ring))


def code_of(manifest: Manifest, ring: Keyring) -> str:
    """Return the code over all facts of a manifest, by the key that it names."""
    facts = asdict(replace(manifest, code=""))
    text = json.dumps(facts, sort_keys=True).encode()
    key = ring.derive(_PURPOSE, manifest.key)
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def signature_error(
    manifest: Manifest, ring: Keyring | None, key_file: Path
) -> OutkeyError | None:
    """Return why a backup is not known to be as it was made; None if it is."""
    if not manifest.code:
        return ConfigError(
            Text("the backup is not signed, as those of version 0.2.0 are not"),
            hint=_UNSIGNED,
            field="--unsigned",
        )
    if ring is None or not ring.holds(manifest.key):
        return Sealed(
            Text("the key {key} that signed the backup is missing", key=manifest.key),
            hint=Text(
                "Put the key of the backup here, and restore again: {file}. To restore"
                " without it, and without the policy of the backup, use --unsigned.",
                file=str(key_file),
            ),
        )
    if not hmac.compare_digest(manifest.code, code_of(manifest, ring)):
        return ConfigError(
            Text("the backup was changed after it was made: its signature is wrong"),
            hint=_UNSIGNED,
            field="--unsigned",
        )
    return None
