"""Work that no caller waits for: an error in a thread of the server is only logged."""

from collections.abc import Callable
from logging import Logger

from django.db import connections


def log_and_continue(
    logger: Logger, work: Callable[[], object], *, again_soon: bool = False
) -> None:
    """Do some work; never raises.

    Closes the thread's connections, unless the work is done again soon.
    """
    try:
        work()
    except Exception as error:  # noqa: BLE001 - the next round tries again
        # Only the type: the text of a driver or a library may hold a value.
        logger.error("background work failed (%s)", type(error).__name__)  # noqa: TRY400
    finally:
        if not again_soon:
            connections.close_all()
