"""Synchronization: the records of one line, page by page, between an API and the host.

Every page is one transaction with its checkpoint, and writing is idempotent: whatever
ends a run in the middle, it is continued after the last page that was stored.
No more pages are in memory than the line requests at a time, which is one by default.

    runner           what callers use: check, preview, run
    run_in_progress  a run of either direction: checkpoint, lease, limits and end
    pull             from the API into the host: a source, a reader and a writer
    push             from the host to the API: records, an exchange and a ledger
    pairs            the writer and the ledger of two lines that keep records equal
    suggesting       one request for a sample, and what a line can be completed with
    form_errors      everything that is wrong with a line's form
    row_results      what the rows of a form make of a sample, and repairs
    preview_summary  what a preview shows, in short
    requests         the requests, one after another or several at a time
    secret_guard     keeps secrets that an API repeats out of records and checkpoints
    runs             stored runs: requested, begun, saved and ended
    planner          requested runs: by users and schedules, done by a free worker
    loop             the rounds of a worker

After a kill, nobody extends the lease of the run any more. A requested run is then due
again (`Runs.due`): every worker looks for such runs in its rounds (`RunLoop`,
`Planner.plan`), and one of them continues it (`Planner.work`, `Runs.begin`). A run of
the command line is continued by the next run of its line.
"""
