"""Which permissions an edit or a run of a sync line needs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.permission import Permission, Requirement
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.permissions import (
    MAY_NOT_EDIT_SCRIPT,
    MAY_NOT_USE_NETWORK,
)
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    Gone,
    Sync,
    SyncLine,
    Transform,
)

_ADD = Text("you may not add sync lines")
_CHANGE = Text("you may not change sync lines")


@dataclass(frozen=True, slots=True)
class RecordAccess:
    """The access of a line to the records of one of the host's targets.

    `field` is the place of the line that names the target; empty for the target that
    the line synchronizes.
    """

    target: str
    verbs: tuple[str, ...]
    field: str = ""


def line_requirements(
    stored: SyncLine | None, edited: SyncLine, network: Network
) -> list[Requirement]:
    """Return the permissions to replace `stored` (None: a new one) by `edited`.

    `network` is that of the configuration of `edited`.
    """
    needs = [Requirement(Permission.CHANGE_LINE, "name", _CHANGE)]
    if stored is None:
        needs = [Requirement(Permission.ADD_LINE, "name", _ADD)]
    if script_of(stored) != script_of(edited):
        needs.append(Requirement(Permission.EDIT_SCRIPT, "script", MAY_NOT_EDIT_SCRIPT))
    if network is Network.INTERNAL and reaches_other_origins(stored, edited):
        needs.append(
            Requirement(
                Permission.USE_INTERNAL_NETWORK, "job.origins", MAY_NOT_USE_NETWORK
            )
        )
    return needs


def reaches_other_origins(stored: SyncLine | None, edited: SyncLine) -> bool:
    """Whether files of a job may be at origins where the stored line has none."""
    before: set[str] = set()
    if stored is not None and stored.configuration == edited.configuration:
        before = {*_job_origins(stored)}
    return not before.issuperset(_job_origins(edited))


def _job_origins(line: SyncLine) -> Sequence[str]:
    return line.sync.job.origins if line.sync is not None else ()


def script_of(line: SyncLine | None) -> str:
    """Return the script of a line; empty where it has none."""
    return line.sync.script if line is not None and line.sync is not None else ""


def record_accesses(
    sync: Sync, parent: Sync | None = None, *, dry_run: bool = False
) -> Iterator[RecordAccess]:
    """Yield the accesses of a line to the host's records when it runs.

    `parent` is the line whose records are its parents: the requests have their values.
    """
    writes = sync.direction is Direction.PULL and not dry_run
    verbs: tuple[str, ...] = ("view", "add", "change") if writes else ("view",)
    if writes and sync.gone is Gone.DELETE:
        verbs = (*verbs, "delete")
    yield RecordAccess(sync.target, verbs)
    if parent is not None:
        yield parent_access(parent)
    yield from _lookup_accesses(sync.mappings, "")
    for number, children in enumerate(sync.children):
        place = f"children[{number}]."
        verbs = ("view", "add", "change", "delete") if writes else ("view",)
        yield RecordAccess(children.target, verbs, f"{place}target")
        yield from _lookup_accesses(children.mappings, place)


def parent_access(parent: Sync) -> RecordAccess:
    """Return the access to the records of the line that are the parents."""
    return RecordAccess(parent.target, ("view",), "for_each.line")


def _lookup_accesses(
    mappings: Sequence[FieldMapping], place: str
) -> Iterator[RecordAccess]:
    """Yield the targets that mappings look values up in."""
    for number, mapping in enumerate(mappings):
        target = mapping.options.get("target", "")
        if mapping.transform is Transform.LOOKUP and target:
            field = f"{place}fields[{number}].options.target"
            yield RecordAccess(target, ("view",), field)
