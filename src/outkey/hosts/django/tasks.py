"""Runs of sync lines as jobs of procrastinate: any number of machines work off one PostgreSQL.

A job only names a run. Whether it is due, how far it is and how it ended is kept with the run, so
that a job which is lost or comes twice does no harm.
"""

from contextlib import suppress

from django.db import transaction
from procrastinate import JobContext
from procrastinate.contrib.django import app
from procrastinate.exceptions import AlreadyEnqueued

from outkey.core.sync.run import Run

QUEUE = "outkey"
WORK = "work"  # what a worker gives its jobs


@app.task(name="outkey.run", queue=QUEUE, pass_context=True)
def do_run(context: JobContext, run: str) -> None:
    """Do a run that was asked for."""
    context.additional_context[WORK](run)


class ProcrastinateQueue:
    """Tells every worker at once."""

    def put(self, run: Run, lock: str) -> None:
        # Not with a time: a job that waits for its time would keep its lock from all behind it.
        job = do_run.configure(lock=lock, queueing_lock=f"{run.id}/{run.generation}")
        with suppress(AlreadyEnqueued), transaction.atomic():
            job.defer(run=run.id)
