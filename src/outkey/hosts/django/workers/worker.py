"""The command `outkey worker`: does runs of a PostgreSQL that many machines share."""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from procrastinate import App, PsycopgConnector
from procrastinate.contrib.django import app
from procrastinate.contrib.django.utils import connector_params
from procrastinate.jobs import Status

from outkey.administration.engine.application import Application
from outkey.foundation.adapters.postgresql_deadlines import AsyncDeadlineConnection
from outkey.foundation.engine.rounds import repeat
from outkey.hosts.django.workers.heartbeats import heartbeat_thread
from outkey.hosts.django.workers.tasks import QUEUE, WORK
from outkey.hosts.django.workers.unattended_work import log_and_continue
from outkey.hosts.django.workers.webhook_rounds import webhook_thread
from outkey.sync.core.run.run import SCHEDULE_ACTOR, Run
from outkey.sync.engine.runs.loop import PLAN_SECONDS, DatabasePlaces

RECONNECT_SECONDS = 2.0
STALLED_SECONDS = 30
TARGET_SECONDS = 5.0  # for another database that a run waits for
# Jobs that procrastinate cannot read: it would try the same one again and again, or
# leave it as one that is being done. Planning hands out what is due in any case.
DELETE_UNREADABLE = (
    "DELETE FROM procrastinate_jobs WHERE queue_name = %(queue)s AND status = 'todo'"
    " AND (NOT isfinite(scheduled_at) OR jsonb_typeof(args) <> 'object')"
)
STOP_SECONDS = 5.0  # for deliveries that are being processed
EXTRA_THREADS = 4  # for planning, and for procrastinate's own queries
logger = logging.getLogger("outkey.runs")


class QueueWorker:
    """Does runs until the stop signal is set; releases them at their next page."""

    def __init__(
        self,
        application: Application,
        limit: int,
        report: Callable[[str], None],
        report_run: Callable[[Run], None],
    ) -> None:
        self._application = application
        self._limit = limit
        self._places = DatabasePlaces(limit)
        self._report = report
        self._report_run = report_run
        self._stop_signal = threading.Event()
        self._interrupting: asyncio.Task[None] | None = None
        self._planner = application.sync.planner(self._stop_signal.is_set)
        self._runs = application.runs
        self._webhooks = webhook_thread(application, self._stop_signal)
        self._heartbeat = heartbeat_thread(application, self._stop_signal)
        # They log the text of database errors, which may hold a value; what matters is
        # reported here.
        logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
        logging.getLogger("psycopg").setLevel(logging.CRITICAL)

    def run(self) -> None:
        """Work until SIGINT or SIGTERM."""
        asyncio.run(self._run())

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(self._limit + EXTRA_THREADS))
        working = asyncio.create_task(self._work())
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, working)
        planning = asyncio.create_task(
            asyncio.to_thread(repeat, self._plan, PLAN_SECONDS, self._stop_signal)
        )
        self._webhooks.start()
        self._heartbeat.start()
        await asyncio.gather(working, return_exceptions=True)
        await planning
        if self._interrupting is not None:
            self._interrupting.cancel()
        self._webhooks.join(STOP_SECONDS)
        self._heartbeat.join(STOP_SECONDS)

    def _stop(self, working: "asyncio.Task[None]") -> None:
        # Only once: if it is cancelled twice, procrastinate does not wait until it has
        # stored that its jobs have ended, and logs a traceback.
        if not self._stop_signal.is_set():
            self._stop_signal.set()
            working.cancel()
            loop = asyncio.get_running_loop()
            self._interrupting = loop.create_task(self._interrupt_targets())

    async def _interrupt_targets(self) -> None:
        """End what runs wait for in databases that do not respond."""
        await asyncio.sleep(TARGET_SECONDS)
        while True:
            self._application.sync.interrupt()
            await asyncio.sleep(1.0)

    async def _work(self) -> None:
        """Take jobs; connect again after the database was unavailable."""
        while not self._stop_signal.is_set():
            try:
                # As `get_worker_connector` makes it, with deadlines.
                connector = PsycopgConnector(
                    kwargs=connector_params(), connection_class=AsyncDeadlineConnection
                )
                connected = app.with_connector(connector)
                async with connected.open_async():
                    await _delete_unreadable(connected)
                    await self._take_jobs(connected)
            except Exception as error:  # noqa: BLE001 - retried for as long as it takes
                name = type(error).__name__
                self._report(f"the database does not respond ({name}); retrying")
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _take_jobs(self, connected: App) -> None:
        recovering = asyncio.create_task(self._free_locks(connected))
        try:
            await connected.run_worker_async(
                queues=[QUEUE],
                concurrency=self._limit,
                additional_context={WORK: self._do_run},
                install_signal_handlers=False,
                delete_jobs="always",  # how a run ended is stored with the run
            )
        finally:
            recovering.cancel()

    async def _free_locks(self, connected: App) -> None:
        """Free the locks of killed workers; planning hands out their runs again."""
        manager = connected.job_manager
        while True:
            for job in await manager.get_stalled_jobs(
                queue=QUEUE, seconds_since_heartbeat=STALLED_SECONDS
            ):
                await manager.finish_job(job, status=Status.FAILED, delete_job=True)
            await _delete_unreadable(connected)
            await asyncio.sleep(PLAN_SECONDS)

    def _plan(self) -> None:
        log_and_continue(logger, lambda: self._planner.plan(SCHEDULE_ACTOR))

    def _do_run(self, run: str) -> None:
        database = self._planner.database_of(run)
        with self._places.take(database) as has_place:
            # Without a place it stays due, and is handed out again.
            if has_place and self._planner.try_work(run):
                self._report_run(self._runs.get(run))


async def _delete_unreadable(connected: App) -> None:
    """Delete jobs of another program that no worker can read."""
    await connected.connector.execute_query_async(DELETE_UNREADABLE, queue=QUEUE)
