"""Runs a line of so many records, and prints how much memory it took, in KiB."""

import json
import re
import sys
from pathlib import Path

from outkey.hosts.cli.session import open_application

application = open_application()

from outkey.hosts.demo_records.models import Contact


def peak_memory() -> int:
    """Return the peak of this process.

    getrusage does not: its peak includes that of the process we were forked from.
    """
    status = Path("/proc/self/status").read_text("utf-8")
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(peak)


def main() -> None:
    tenth = int(sys.argv[1]) // 10
    early = 0
    created = 0
    for run in application.sync.runner().run("contacts", "tester"):
        created = run.counts.created
        if created <= tenth:
            early = peak_memory()
    assert early, "the first page was larger than a tenth"
    contacts = Contact._default_manager.filter(active=True)
    facts = {
        "early": early,
        "peak": peak_memory(),
        "created": created,
        "stored": contacts.values("external_id").distinct().count(),
    }
    print(json.dumps(facts))


main()
