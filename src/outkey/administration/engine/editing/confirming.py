"""Accepting and deleting what was changed in the database without outkey."""

from collections.abc import Sequence

from outkey.administration.core.findings.changed_rows import ChangedRow
from outkey.administration.engine.editing.administration import Administration
from outkey.administration.ports.installation import VouchedRows
from outkey.foundation.core.errors import EditConflict
from outkey.sending.core.audit.events import Change, Tag

MAX_LABEL = 200  # characters; another program may have chosen a name of any length


def confirm_rows(
    administration: Administration, rows: VouchedRows, seen: Sequence[ChangedRow]
) -> None:
    """Vouch for rows as a user has seen them: all of them or none."""
    _note(administration, Tag.ROW_CONFIRMED, seen)
    with administration.registry.transaction():
        for row in seen:
            if not rows.confirm(row):
                raise EditConflict


def reject_rows(
    administration: Administration, rows: VouchedRows, seen: Sequence[ChangedRow]
) -> None:
    """Delete rows that another program has written: all of them or none."""
    _note(administration, Tag.ROW_REJECTED, seen)
    with administration.registry.transaction():
        for row in seen:
            rows.delete(row)


def _note(administration: Administration, tag: Tag, rows: Sequence[ChangedRow]) -> None:
    labels = [row.name.label[:MAX_LABEL] for row in rows]
    actor = administration.actor
    administration.audit.note(*(Change(tag, actor, fields=(each,)) for each in labels))
