"""What a connection test says at eight servers that it was not written for.

Each server of diagnosis_servers.py is set up wrongly in six ways. The reasons that are
right stand in diagnosis_setups.toml, written before the first run. Of a first reason:

    right    it is one of them
    or       the report says that it is one of several, and names a right one among them
    vague    only the status suggests it, or it is unknown
    false    anything else

A fix makes things worse where its reason is not right, so those are counted. Then the
curl command of each server's documentation is imported, saved and tested.

    diagnosis_servers.sh FOLDER
    python bench/diagnosis.py --servers FOLDER

Exit status: 0 every budget holds, 1 one is missed.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from diagnosis_servers import Prepared, running

from outkey.hosts.file.loading import from_text
from outkey.sending.core.diagnosis.evidence import Certainty
from outkey.sending.engine.connection_test import Report

LEAST_RIGHT = 0.9
MOST_FALSE = 0.02
_SETUPS = Path(__file__).with_name("diagnosis_setups.toml")
_READY_SECONDS = 90
_VARIABLE = "BENCH_DIAGNOSIS"
Setup = Mapping[str, Any]


class Result(NamedTuple):
    """What came of one wrong setting."""

    server: str
    mistake: str
    verdict: str
    first: str
    certainty: str
    fix: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--servers", type=Path, required=True)
    parser.add_argument("--only", default="", help="the name of one server")
    arguments = parser.parse_args()
    document = tomllib.loads(_SETUPS.read_text())
    results: list[Result] = []
    imports: list[tuple[str, bool, str]] = []
    with tempfile.TemporaryDirectory(prefix="outkey-diagnosis-") as name:
        for server, facts in document["servers"].items():
            if arguments.only not in {"", server}:
                continue
            folder = Path(name) / server
            with running(server, arguments.servers.resolve(), folder) as prepared:
                curl = facts["curl"].format(url=prepared.url, **prepared.values)
                wait_until_ready(curl)
                setups = [row for row in document["setups"] if row["server"] == server]
                results += [result_of(setup, prepared) for setup in setups]
                imports.append((server, *import_curl(curl, folder)))
    return report(results, imports)


# ── wrong settings ────────────────────────────────────────────────────────────────────


def result_of(setup: Setup, prepared: Prepared) -> Result:
    """Test one wrong setting, and judge what the report says first."""
    tested = test_of(setup, prepared)
    right = set(setup["right"])
    if not tested.suspicions:
        verdict = "vague" if not tested.ok else "false"
        return Result(setup["server"], setup["mistake"], verdict, "", "", "")
    first = tested.suspicions[0]
    rivals = {rival.id for rival in first.rivals}
    if first.reason.id in right:
        verdict = "right"
    elif rivals & right:
        verdict = "or"
    elif first.certainty is Certainty.POSSIBLE or first.reason.id == "unexpected":
        verdict = "vague"
    else:
        verdict = "false"
    names = " | ".join([first.reason.id, *sorted(rivals)])
    fix = str(first.fix.label) if first.fix else ""
    return Result(
        setup["server"], setup["mistake"], verdict, names, str(first.certainty), fix
    )


def test_of(setup: Setup, prepared: Prepared) -> Report:
    """Return the report of a connection test of one wrong setting."""
    secret = ""
    url = prepared.url
    lines = ['network = "internal"', 'environment = "test"']
    lines += [f"test_path = {json.dumps(setup['test_path'])}"]
    lines[-1] = f"verification = {{ {lines[-1]} }}"
    for key, value in setup.items():
        if key in {"authentication_type", "username"}:
            lines.append(f"{key} = {json.dumps(value)}")
        elif key == "scheme":
            url = url.replace("http:", f"{value}:")
    environment: dict[str, str] = {}
    for key in ("password", "token", "value"):
        if key in setup:
            secret = setup[key].format(**prepared.values)
            name = f"{_VARIABLE}_{key.upper()}"
            environment[name] = secret
            lines += secret_lines(setup, key, f"env:{name}")
    lines.insert(0, f"base_url = {json.dumps(url)}")
    os.environ.update(environment)
    gateway = from_text("\n".join(["[configuration.judged]", *lines, ""]))
    try:
        return gateway.test("judged")
    finally:
        gateway.close()


def secret_lines(setup: Setup, key: str, reference: str) -> Iterator[str]:
    """Yield the line of a configuration that has a secret."""
    if key != "value":
        yield f"{key} = {json.dumps(reference)}"
        return
    kind = "headers" if "header" in setup else "query"
    name = json.dumps(setup.get("header") or setup["parameter"])
    row = f'{{ key = {name}, value = "{reference}", secret = true }}'
    yield f"{kind} = [{row}]"


# ── curl commands ─────────────────────────────────────────────────────────────────────


def wait_until_ready(curl: str) -> None:
    """Wait until the command succeeds by curl itself; a server may listen before."""
    command = [*shlex.split(curl), "-o", os.devnull, "-w", "%{http_code}"]
    deadline = time.monotonic() + _READY_SECONDS
    status = ""
    while time.monotonic() < deadline:
        finished = subprocess.run(command, check=False, capture_output=True, text=True)
        status = finished.stdout
        if status == "200":
            return
        time.sleep(0.5)
    raise RuntimeError(
        f"the right request gets {status}: {curl.rsplit(maxsplit=1)[-1]}"
    )


def import_curl(curl: str, folder: Path) -> tuple[bool, str]:
    """Import a curl command into a new home, and test the configuration."""
    environment = {**os.environ, "OUTKEY_HOME": str(folder / "home")}
    outkey = [str(Path(sys.executable).with_name("outkey"))]
    imported = subprocess.run(
        [*outkey, "import", "-", "--name", "judged", "--apply"],
        input=curl,
        check=False,
        env=environment,
        text=True,
        capture_output=True,
    )
    if imported.returncode:
        return False, imported.stderr.strip()
    tested = subprocess.run(
        [*outkey, "test", "judged"],
        check=False,
        env=environment,
        text=True,
        capture_output=True,
    )
    lines = tested.stdout.splitlines()
    verdict = next((line for line in lines if line.startswith(("judged", "cause"))), "")
    return tested.returncode == 0 and verdict == "judged works", verdict


# ── the report ────────────────────────────────────────────────────────────────────────


def report(results: list[Result], imports: list[tuple[str, bool, str]]) -> int:
    """Print the table and the shares; return the exit status."""
    for result in results:
        print(
            f"{result.server:17} {result.mistake:22} {result.verdict:6}"
            f" {result.certainty:9} {result.first}"
            + (f"  [fix: {result.fix}]" if result.fix else "")
        )
    counts = Counter(result.verdict for result in results)
    total = len(results)
    is_first = (counts["right"] + counts["or"]) / total
    is_false = counts["false"] / total
    bad_fixes = [one for one in results if one.fix and one.verdict != "right"]
    print(
        f"\n{total} wrong settings: right {counts['right']}, or {counts['or']}, vague"
        f" {counts['vague']}, false {counts['false']}"
    )
    print(f"the true reason first: {is_first:.1%} (at least {LEAST_RIGHT:.0%})")
    print(f"a false reason first: {is_false:.1%} (at most {MOST_FALSE:.0%})")
    print(f"fixes of another reason than the right one: {len(bad_fixes)} (none)")
    for server, works, verdict in imports:
        print(f"curl of {server}: {'works' if works else verdict}")
    holds = is_first >= LEAST_RIGHT and is_false <= MOST_FALSE and not bad_fixes
    return 0 if holds and all(works for _, works, _ in imports) else 1


if __name__ == "__main__":
    sys.exit(main())
