"""Work that no caller waits for: what fails in a thread of the server is only logged."""

from collections.abc import Callable
from logging import Logger

from django.db import connections


def guarded(
    logger: Logger, work: Callable[[], object], *, again_soon: bool = False
) -> None:
    """Do some work; never raises, and keeps no connection but for what is done again soon."""
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the next round tries again
        # Only its name: what a driver or a library says may hold a value.
        logger.error("background work failed (%s)", type(error).__name__)  # noqa: TRY400
    finally:
        if not again_soon:
            connections.close_all()
