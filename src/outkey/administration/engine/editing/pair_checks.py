"""Whether the pairs of a document can run, with its lines and those that are saved."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from outkey.administration.core.document.document import Document
from outkey.foundation.core.errors import UnknownConfiguration
from outkey.foundation.ports.expressions import PathCompiler
from outkey.sync.core.mapping.records import Target
from outkey.sync.core.pairs.rules import refuse_shared_lines, refuse_unfit_pair
from outkey.sync.core.pairs.section import Pair
from outkey.sync.engine.line_registry import Registry


def refuse_unfit_pairs(
    registry: Registry,
    document: Document,
    stored: Mapping[str, Pair],
    paths: PathCompiler,
    targets: Callable[[], Sequence[Target]],
) -> None:
    """Refuse pairs whose lines do not fit each other, as the document leaves them."""
    pairs = {**stored, **{pair.name: pair for pair in document.pairs}}
    refuse_shared_lines(pairs.values())
    new = {line.name: line for line in document.lines}
    for pair in pairs.values():
        if pair not in document.pairs and not {pair.pull, pair.push} & new.keys():
            continue
        lines = {**new}
        for name in {pair.pull, pair.push} - new.keys():
            with suppress(UnknownConfiguration):
                lines[name] = registry.line(name)
        refuse_unfit_pair(pair, lines, targets)
        if pair.api_changed:
            paths.compile(pair.api_changed, field=f"pair.{pair.name}.api_changed")
