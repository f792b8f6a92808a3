"""Runs a line, and ends itself by SIGKILL when it writes its third page.

Arguments: `before` or `after`, and `upsert` (of the records) or `save` (of the run).
"""

import os
import signal
import sys

from outkey.hosts.cli.session import open_application

application = open_application()

from outkey.hosts.django.records.django_records import DjangoRecords
from outkey.sync.engine.runs.runs import Runs

CLASSES: dict[str, type] = {"upsert": DjangoRecords, "save": Runs}


def kill_at_third_call(moment: str, method: str) -> None:
    """Replace a method by one that kills this process at its third call."""
    kind = CLASSES[method]
    original = getattr(kind, method)
    count = 0

    def counting(*arguments: object, **options: object) -> object:
        nonlocal count
        count += 1
        if count == 3 and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result: object = original(*arguments, **options)
        if count == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(kind, method, counting)


kill_at_third_call(moment=sys.argv[1], method=sys.argv[2])
list(application.sync.runner().run("contacts", "tester"))
