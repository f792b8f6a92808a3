"""import_share.py FILE...: which lists of OpenAPI documents become lines, with losses.

A list is a GET whose response is a list of objects. It is converted without loss if the
report of the import has no warning about it.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.findings.checks import Level
from outkey.hosts.importing import read_import
from outkey.importing.core.reading import Import
from outkey.importing.core.report import ReportAction, ReportItem

_PLACE = re.compile(r"(line [^:]+?)(?:: (\w[\w.]*))?")


class Share:
    """Counts lists, lines and losses of many imports."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.losses: Counter[str] = Counter()

    def add(self, imported: Import) -> None:
        """Count the lists of one import."""
        lists, lossy, needing = set(), set(), set()
        for item in imported.report:
            match = _PLACE.fullmatch(item.item)
            if match is None:
                continue
            place, setting = match.groups()
            if setting == "records" and item.action is ReportAction.TAKEN:
                lists.add(place)
            if is_loss(item):
                lossy.add(place)
                needing |= {place} if setting is None else set()
                self.losses[f"{setting or 'line'}: {item.why.template}"] += 1
        pulls = sum(drafted.line.sync is not None for drafted in imported.lines)
        self.counts["documents"] += 1
        self.counts["lists that need a value of the user"] += len(needing)
        self.counts["other lists"] += len(lists - needing)
        self.counts["lines"] += pulls
        self.counts["lines without a loss"] += len(lists - lossy)

    def text(self) -> str:
        """Return the counts and the losses, the most frequent first."""
        lists = self.counts["other lists"] or 1
        rows = [f"{name}: {count}" for name, count in self.counts.items()]
        rows += [
            f"share of {name}: {100 * self.counts[name] / lists:.1f} %"
            for name in ("lines", "lines without a loss")
        ]
        rows += ["", "losses:"]
        rows += [f"{count:6} {why}" for why, count in self.losses.most_common(40)]
        return "\n".join(rows)


def is_loss(item: ReportItem) -> bool:
    """Whether an item of a report names something that a line could not have."""
    return item.action is ReportAction.DROPPED and item.level is not Level.NOTICE


def main(files: Iterable[str]) -> None:
    """Print the share of some files."""
    share = Share()
    for file in files:
        try:
            share.add(read_import(Path(file).read_text(), source="openapi"))
        except OutkeyError as error:
            share.counts["documents that are refused"] += 1
            share.losses[f"document: {error.message.template}"] += 1
    print(share.text())


if __name__ == "__main__":
    main(sys.argv[1:])
