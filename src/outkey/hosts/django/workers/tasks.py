"""Runs of sync lines as jobs of procrastinate, for any number of machines.

A job only names a run. Whether the run is due, how far it is and how it ended is stored
with the run: a job that is lost or comes twice does no harm.
"""

from contextlib import suppress

from django.db import transaction
from procrastinate import JobContext
from procrastinate.contrib.django import app
from procrastinate.exceptions import AlreadyEnqueued

from outkey.sync.core.run.run import Run

QUEUE = "outkey"
# The entry of a job's context that does a run: `QueueWorker` puts `Planner.work` there.
WORK = "work"


@app.task(name="outkey.run", queue=QUEUE, pass_context=True)
def do_run(context: JobContext, run: str) -> None:
    """Do a requested run."""
    context.additional_context[WORK](run)


class ProcrastinateQueue:
    """Notifies every worker at once."""

    def put(self, run: Run, lock: str) -> None:
        # Without a time: a job that waits for its time would block its lock for all
        # jobs after it.
        once = f"{run.id}/{run.generation}/{lock}"
        job = do_run.configure(lock=lock, queueing_lock=once)
        with suppress(AlreadyEnqueued), transaction.atomic():
            job.defer(run=run.id)
