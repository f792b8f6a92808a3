"""Synchronization: the records of one line, page by page, between an API and the host.

Every page is one transaction with its checkpoint, and writing is idempotent: whatever
ends a run in the middle, it is continued after the last page that was stored.
No more pages are in memory than the line requests at a time, which is one by default.

    runs/    stored runs, and the entry point (`runner`): check, preview, run;
             `run_in_progress` has the checkpoint, lease, limits and end of a run;
             `planner` requests runs, `loop` does the rounds of a worker
    pull/    from the API into the host: a source, a reader and a writer;
             `secret_guard` keeps secrets that an API repeats out of what is stored
    push/    from the host to the API: records, an exchange and a ledger;
             `requests` sends one after another or several at a time
    pairs/   the writer and the ledger of two lines that keep records equal
    forms/   what the form of a line shows: a sample, errors, repairs, a summary

After a kill, the lease of the run is not extended. A requested run is then due again
(`Runs.due`): every worker looks for such runs in its rounds (`RunLoop`,
`Planner.plan`), and one of them continues it (`Planner.work`, `Runs.begin`). A run of
the command line is continued by the next run of its line.
"""
