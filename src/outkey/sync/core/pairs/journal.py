"""The journal of a pair's pull, for records that are committed before the rest.

Records in another database cannot be committed together with what both sides agree on.
So the other database gets, in the transaction of the records, a journal of what is to
be stored. The next run stores that if a kill came in between: otherwise what the pull
wrote would look like an edit of a user.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from outkey.sync.core.pairs.pairs import PairAgreement, stored_agreement
from outkey.sync.core.push.ledger import LedgerEntry
from outkey.sync.core.run.run import Run, RunState


@dataclass(frozen=True, slots=True)
class PairJournal:
    """Changes of agreements and ledger by a page, or by the end of a run."""

    run: str
    pages: int  # of the run, before this page
    deleted: Sequence[str]  # the records whose agreements end
    agreements: Sequence[PairAgreement]
    entries: Sequence[LedgerEntry]

    def is_stored(self, run: Run) -> bool:
        """Whether the checkpoint after it, which stores the changes too, is there."""
        return run.pages > self.pages or run.state is RunState.DONE

    def as_text(self) -> str:
        """Return the journal as a database stores it."""
        return json.dumps(
            {
                "run": self.run,
                "pages": self.pages,
                "deleted": [*self.deleted],
                "agreements": [agreement.as_columns() for agreement in self.agreements],
                "entries": [asdict(entry) for entry in self.entries],
            }
        )


def stored_journal(text: str) -> PairJournal:
    """Return the journal that a database has stored."""
    facts = json.loads(text)
    return PairJournal(
        run=facts["run"],
        pages=facts["pages"],
        deleted=facts["deleted"],
        agreements=[stored_agreement(columns) for columns in facts["agreements"]],
        entries=[LedgerEntry(**entry) for entry in facts["entries"]],
    )
