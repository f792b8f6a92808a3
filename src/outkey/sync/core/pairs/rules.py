"""Which two lines can be a pair; everything else is refused when it is saved."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import Direction, PushedRecords, Sync, SyncLine
from outkey.sync.core.mapping.records import Target
from outkey.sync.core.mapping.shape import is_made_by_outkey
from outkey.sync.core.mapping.targets import FileName, parse_target
from outkey.sync.core.pairs.section import Pair


def refuse_shared_lines(pairs: Iterable[Pair]) -> None:
    """Raise ConfigError for a line in two pairs: the rules of both would hold."""
    pair_of: dict[str, str] = {}
    for pair in pairs:
        for name, line in (("pull", pair.pull), ("push", pair.push)):
            if line in pair_of:
                raise ConfigError(
                    Text(
                        "the line {line} is in the pair {pair} already",
                        line=line,
                        pair=pair_of[line],
                    ),
                    hint=Text(
                        "Name another line here, or in the pair {pair}.",
                        pair=pair_of[line],
                    ),
                    field=f"pair.{pair.name}.{name}",
                )
            pair_of[line] = pair.name


def refuse_unfit_pair(
    pair: Pair,
    lines: Mapping[str, SyncLine],
    targets: Callable[[], Sequence[Target]] = tuple,
) -> None:
    """Raise ConfigError if the lines of a pair do not fit each other.

    `targets` are those that are there, for the field with the time of a change.
    """
    place = f"pair.{pair.name}."
    pull_line, pull = _find_line(lines, pair.pull, Direction.PULL, f"{place}pull")
    push_line, push = _find_line(lines, pair.push, Direction.PUSH, f"{place}push")
    if pull_line.configuration != push_line.configuration:
        raise ConfigError(
            Text("both lines of a pair must have the same configuration"),
            hint=Text(
                "{pull} uses {first} and {push} uses {second}: change one of them.",
                pull=pair.pull,
                first=pull_line.configuration,
                push=pair.push,
                second=push_line.configuration,
            ),
            field=f"{place}push",
        )
    if pull.target.lower() != push.target.lower():
        raise ConfigError(
            Text("both lines of a pair must have the same target"),
            hint=Text(
                "{pull} has {first} and {push} has {second}: change one of them.",
                pull=pair.pull,
                first=pull.target,
                push=pair.push,
                second=push.target,
            ),
            field=f"{place}push",
        )
    if isinstance(parse_target(pull.target), FileName):
        raise ConfigError(
            Text("the target of a pair cannot be a file"),
            hint=Text("Choose a table or a model as the target of both lines."),
            field=f"{place}pull",
        )
    if pull.children:
        raise ConfigError(
            Text("the pull of a pair cannot have children"),
            hint=Text("Move the children of {line} to another line.", line=pair.pull),
            field=f"{place}pull",
        )
    if pull.job:
        raise ConfigError(
            Text("the pull of a pair cannot order a job"),
            hint=Text("Remove the job of {line}.", line=pair.pull),
            field=f"{place}pull",
        )
    if pull.for_each:
        raise ConfigError(
            Text("the pull of a pair cannot request records for each parent"),
            hint=Text("Remove for_each of {line}.", line=pair.pull),
            field=f"{place}pull",
        )
    _refuse_unfit_push(pair, push)
    if pair.host_changed:
        _refuse_unknown_field(pair, pull, targets())


def _find_line(
    lines: Mapping[str, SyncLine], name: str, direction: Direction, place: str
) -> tuple[SyncLine, Sync]:
    line = lines.get(name)
    if line is None:
        raise ConfigError(
            Text("there is no line {line}", line=name),
            hint=Text("Add it to the document, or name a saved line."),
            field=place,
        )
    if line.sync is None or line.sync.direction is not direction:
        raise ConfigError(
            Text(
                "the line {line} must have the direction {direction}",
                line=name,
                direction=direction,
            ),
            hint=Text("Name another line, or change its direction."),
            field=place,
        )
    return line, line.sync


def _refuse_unfit_push(pair: Pair, push: Sync) -> None:
    place = f"pair.{pair.name}.push"
    if not push.update:
        raise ConfigError(
            Text("the push of a pair needs a request that updates a record"),
            hint=Text(
                "Add update to the line {line}, such as PATCH /orders/{{remote_id}}.",
                line=pair.push,
            ),
            field=place,
        )
    if push.pushed_records is PushedRecords.ALL:
        raise ConfigError(
            Text("the push of a pair must send changed records only"),
            hint=Text('Remove changes = "all" from the line {line}.', line=pair.push),
            field=place,
        )


def _refuse_unknown_field(pair: Pair, pull: Sync, targets: Sequence[Target]) -> None:
    """Raise ConfigError if the host's field with the time of a change is unknown.

    A table may get it from the first run of the pull. A model that is not open is a
    finding of the lines.
    """
    fields = {
        name
        for target in targets
        if target.name.lower() == pull.target.lower()
        for name in (*(field.name for field in target.fields), *target.times)
    }
    if is_made_by_outkey(pull.target):
        fields |= {mapping.host for mapping in pull.mappings}
    if not fields or pair.host_changed in fields:
        return
    raise ConfigError(
        Text("the target has no such field"),
        hint=Text("Choose one of: {names}.", names=", ".join(sorted(fields))),
        field=f"pair.{pair.name}.host_changed",
    )
