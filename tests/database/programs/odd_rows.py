"""Rows that were not written by outkey: each stops itself, and nothing else.

Odd values are planted into each column of copies of a row, and into the states that
begin anew. Then everything that lists or works is tried, and what is good must work.
With `--full`, or after a failure, tables and kinds are tried one by one.
"""

import sys
from collections.abc import Iterable

from odd_home import HOME, TOKEN, api

from odd_checks import Checks  # isort: skip - Django is set up by then
from odd_plants import Plant, Snapshot, groups  # isort: skip


def main() -> None:
    checks = Checks(HOME, TOKEN)  # with a session, which is a row as well
    snapshot = Snapshot(HOME)
    failures = checks.failures()
    assert not failures, "\n".join(failures)
    snapshot.restore()
    chosen = [name for name in sys.argv[1:] if not name.startswith("--")]
    found = [group for group in groups() if not chosen or label_of(group) in chosen]
    assert len(found) > 35 or chosen
    if "--full" not in sys.argv and not chosen:
        copies = [plant for group in found for plant in group if not plant.is_in_place]
        in_place = [group for group in found if group[0].is_in_place]
        together = [copies, *in_place]
        if not any(try_group(group, checks, snapshot) for group in together):
            return
    for group in found:
        failures += try_group(group, checks, snapshot)
    assert not failures, "\n".join(failures)


def try_group(group: Iterable[Plant], checks: Checks, snapshot: Snapshot) -> list[str]:
    """Plant values, and return what does not work with them."""
    for number, plant in enumerate(group, start=1000):
        plant.put(number)
    failures = checks.failures()
    snapshot.restore()
    label = label_of(list(group))
    return [f"{label}: {failure}" for failure in failures]


def label_of(group: list[Plant]) -> str:
    return group[0].kind or group[0].table


try:
    main()
finally:
    api.close()
