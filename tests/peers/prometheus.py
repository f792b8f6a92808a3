"""Prometheus from Debian, unpacked by tools/peers.sh, with the jobs of deploy/.

What it has scraped is the evidence: values come from its own query API. Nothing here
knows outkey.
"""

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from peers.servers import listening
from peers.unpacked import require_unpacked

SETTINGS = Path(__file__).parents[2] / "deploy" / "prometheus.yml"
PATIENCE = 60.0
MARGIN = 0.05  # seconds; the time of a scrape is moved by some milliseconds
Series = dict[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running Prometheus."""

    url: str
    targets: int

    def query(self, expression: str) -> Series:
        """Return the values by the values of their labels, in the order of names."""
        response = httpx.get(
            f"{self.url}/api/v1/query", params={"query": expression}, timeout=30
        )
        facts = response.json()
        assert facts["status"] == "success", facts
        assert facts["data"]["resultType"] == "vector", facts
        return {
            tuple(text for _, text in sorted(series["metric"].items())): float(
                series["value"][1]
            )
            for series in facts["data"]["result"]
        }

    def wait_for_scrapes(self, of: str) -> None:
        """Wait until every target was scraped after this moment.

        `of` is a metric that each scrape has; one that fails makes it stale.
        """
        begin = time.time() + MARGIN
        end = time.monotonic() + PATIENCE
        while True:
            moments = self.query(f"timestamp({of})").values()
            if len(moments) == self.targets and min(moments) > begin:
                return
            assert time.monotonic() < end, self.problems()
            time.sleep(0.1)

    def problems(self) -> list[str]:
        """Return what went wrong in the last scrape of each target."""
        found = httpx.get(f"{self.url}/api/v1/targets", timeout=30).json()
        targets = found["data"]["activeTargets"]
        return [f"{target['scrapeUrl']}: {target['lastError']}" for target in targets]


@contextmanager
def prometheus_running(
    folder: Path, targets: Mapping[str, Sequence[str]], token: str
) -> Iterator[Prometheus]:
    """Run Prometheus with the jobs of deploy/prometheus.yml, and these targets."""
    start, _ = require_unpacked("prometheus")
    (folder / "token").write_text(f"{token}\n")
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings(folder, targets)))

    def command(port: int) -> list[str]:
        return [
            *start,
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]

    with listening(folder, "prometheus", command, "/-/ready") as port:
        count = sum(map(len, targets.values()))
        yield Prometheus(f"http://127.0.0.1:{port}", count)


@contextmanager
def prometheus_with_data(folder: Path) -> Iterator[str]:
    """Run Prometheus with the data in a folder until the block ends."""
    start, _ = require_unpacked("prometheus")
    (folder / "empty.yml").write_text("{}")

    def command(port: int) -> list[str]:
        return [
            *start,
            f"--config.file={folder}/empty.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]

    with listening(folder, "prometheus", command, "/-/ready") as port:
        yield f"http://127.0.0.1:{port}"


def settings(folder: Path, targets: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the settings of deploy/, for servers without TLS on other ports."""
    delivered: dict[str, Any] = yaml.safe_load(SETTINGS.read_text())
    delivered["global"]["scrape_interval"] = "1s"
    jobs = {job["job_name"]: job for job in delivered["scrape_configs"]}
    assert jobs.keys() == targets.keys()
    for name, job in jobs.items():
        job["static_configs"] = [{"targets": list(targets[name])}]
        if "authorization" in job:
            job["authorization"]["credentials_file"] = str(folder / "token")
            assert job.pop("scheme") == "https"
    return delivered


def promtool(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run promtool, which comes with Prometheus."""
    start, _ = require_unpacked("promtool")
    return subprocess.run(
        [*start, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
