"""The command `outkey worker`: runs of sync lines, taken from a PostgreSQL that many share."""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from procrastinate import App
from procrastinate.contrib.django import app
from procrastinate.jobs import Status

from outkey.core.sync.run import Run
from outkey.engine.application import Application
from outkey.hosts.django.guarded import guarded
from outkey.hosts.django.local_workers import ACTOR, PLAN_SECONDS
from outkey.hosts.django.tasks import QUEUE, WORK

_AGAIN_SECONDS = 2.0
_STALLED_SECONDS = 30
_BESIDES = 4  # threads, for planning and for what is asked of the database
_logger = logging.getLogger("outkey.runs")


class Worker:
    """Takes runs until it is told to stop; then it lets go of them at their next page."""

    def __init__(
        self,
        application: Application,
        at_once: int,
        tell: Callable[[str], None],
        tell_run: Callable[[Run], None],
    ) -> None:
        self._at_once, self._tell, self._tell_run = at_once, tell, tell_run
        self._stop = threading.Event()
        self._planner = application.planner(self._stop.is_set)
        # It logs what a driver says, and that may hold a value; what matters is told here.
        logging.getLogger("procrastinate").setLevel(logging.CRITICAL)
        logging.getLogger("psycopg").setLevel(logging.CRITICAL)

    def run(self) -> None:
        """Work until SIGINT or SIGTERM."""
        asyncio.run(self._run())

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(self._at_once + _BESIDES))
        working = asyncio.create_task(self._work())
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._end, working)
        planning = asyncio.create_task(self._plan())
        await asyncio.gather(working, return_exceptions=True)
        await planning

    def _end(self, working: "asyncio.Task[None]") -> None:
        self._stop.set()
        working.cancel()

    async def _work(self) -> None:
        """Take jobs; begin anew when the database was away."""
        while not self._stop.is_set():
            try:
                connector = app.connector.get_worker_connector()  # type: ignore[attr-defined]
                working = app.with_connector(connector)
                async with working.open_async():
                    await self._take(working)
            except Exception as error:  # noqa: BLE001 - it is tried again, for as long as it takes
                self._tell(
                    f"the database does not answer ({type(error).__name__}); trying"
                    " again"
                )
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _take(self, working: App) -> None:
        recovering = asyncio.create_task(self._recover(working))
        try:
            await working.run_worker_async(
                queues=[QUEUE],
                concurrency=self._at_once,
                additional_context={WORK: self._do},
                install_signal_handlers=False,
                delete_jobs="always",  # how a run ended is kept with the run
            )
        finally:
            recovering.cancel()

    async def _recover(self, working: App) -> None:
        """Free the locks of workers that are gone; their runs are handed out by whoever plans."""
        manager = working.job_manager
        while True:
            for job in await manager.get_stalled_jobs(
                seconds_since_heartbeat=_STALLED_SECONDS
            ):
                await manager.finish_job(job, status=Status.FAILED, delete_job=True)
            await asyncio.sleep(PLAN_SECONDS)

    async def _plan(self) -> None:
        while not self._stop.is_set():
            await asyncio.to_thread(self._plan_once)
            await asyncio.to_thread(self._stop.wait, PLAN_SECONDS)

    def _plan_once(self) -> None:
        guarded(_logger, lambda: self._planner.plan(ACTOR))

    def _do(self, run: str) -> None:
        self._tell_run(self._planner.work(run))
