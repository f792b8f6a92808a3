"""The guard against mass removal: an API or a host may hide or lose records."""

from collections.abc import Callable

from outkey.foundation.core.text import Text, counted
from outkey.sync.core.run.reasons import GUARD, TARGET_REPLACED, sync_failure


def most_removals(total: int, percent: int) -> int:
    """Return how many of a line's records one run may archive or delete.

    One record may always be removed, so that small targets stay up to date. With 100
    there is no guard, and with 0 no record may be removed.
    """
    return max(1, total * percent // 100) if percent else 0


def refuse_mass_removal_of_children(
    target: str, missing: int, total: int, percent: int
) -> None:
    """Refuse to delete more than a percentage of the children in a target.

    They are deleted page by page, so `missing` is what is known up to this page.
    """
    allowed = most_removals(total, percent)
    if missing > allowed:
        raise sync_failure(
            GUARD,
            counted(
                missing,
                Text(
                    "at least 1 of {total} children in {target} is missing from the"
                    " list of its parent, and the line removes at most {allowed} in one"
                    " run",
                    total=total,
                    target=target,
                    allowed=allowed,
                ),
                Text(
                    "at least {missing} of {total} children in {target} are missing"
                    " from the lists of their parents, and the line removes at most"
                    " {allowed} in one run",
                    missing=missing,
                    total=total,
                    target=target,
                    allowed=allowed,
                ),
            ),
        )


def refuse_mass_removal(missing: int, total: int, percent: int) -> None:
    """Refuse to archive or delete more than a percentage of a line's records.

    A user who wants to remove many allows it for one run, or raises the percentage.
    """
    allowed = most_removals(total, percent)
    if missing > allowed:
        raise sync_failure(
            GUARD,
            counted(
                missing,
                Text(
                    "1 of {total} records is missing, and the line removes at most"
                    " {allowed} in one run",
                    total=total,
                    allowed=allowed,
                ),
                Text(
                    "{missing} of {total} records are missing, and the line removes at"
                    " most {allowed} in one run",
                    missing=missing,
                    total=total,
                    allowed=allowed,
                ),
            ),
        )


def refuse_replaced_target(
    target: str,
    missing: int,
    total: int,
    *,
    percent: int,
    has_more_new: Callable[[int], bool],
) -> None:
    """Refuse to create records if a target has lost many of those that were sent.

    They may be the same ones with other ids. `has_more_new` tells whether more than a
    number of the target's records were never sent. If not, the missing ones are from
    earlier times: records that are deleted now and then stay in the ledger.
    """
    is_loss = missing > most_removals(total, percent)
    if is_loss and has_more_new(total - missing):
        raise sync_failure(
            TARGET_REPLACED,
            counted(
                missing,
                Text(
                    "1 of the {total} records that were sent is no longer in {target},"
                    " and most of those in it were never sent",
                    total=total,
                    target=target,
                ),
                Text(
                    "{missing} of the {total} records that were sent are no longer in"
                    " {target}, and most of those in it were never sent",
                    missing=missing,
                    total=total,
                    target=target,
                ),
            ),
        )
