"""Metrics in the text format of Prometheus."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from outkey.administration.core.operating.metrics import Metrics
from outkey.administration.core.operating.send_counts import BUCKETS, SendCounts

CONTENT_TYPE = CONTENT_TYPE_LATEST


class MetricsCollector(Collector):
    """Hands the measurements of one moment to Prometheus' own writer."""

    def __init__(self, metrics: Metrics, version: str) -> None:
        self._metrics = metrics
        self._version = version

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        yield InfoMetricFamily(
            "outkey", "The version of outkey.", value={"version": self._version}
        )
        yield from _send_metrics(self._metrics.sends)
        yield from _rotation_metrics(self._metrics)
        yield from _run_metrics(self._metrics)
        yield from _delivery_metrics(self._metrics)
        yield _gauge(
            "outkey_workers", "Processes that run sync lines.", self._metrics.workers
        )
        yield _gauge(
            "outkey_open_notices",
            "Notices of the monitoring that are open.",
            self._metrics.open_notices,
        )
        yield _gauge(
            "outkey_sealed",
            "1 while stored secrets cannot be opened, else 0.",
            int(self._metrics.is_sealed),
        )


def _send_metrics(sends: Mapping[str, SendCounts]) -> Iterator[Metric]:
    """Yield the metrics of requests, by configuration."""
    names = ("configuration", "outcome")
    sent = CounterMetricFamily(
        "outkey_sends", "Requests that were sent, each attempt.", labels=names
    )
    renewals = CounterMetricFamily(
        "outkey_token_renewals", "Requests for new tokens.", labels=names
    )
    refused = CounterMetricFamily(
        "outkey_refused_sends",
        "Requests that outkey did not send.",
        labels=("configuration", "code"),
    )
    durations = HistogramMetricFamily(
        "outkey_send_duration_seconds",
        "From the start of an attempt to the end of its response.",
        labels=("configuration",),
    )
    for configuration, counts in sorted(sends.items()):
        _add_all(sent, configuration, counts.sends)
        _add_all(renewals, configuration, counts.renewals)
        _add_all(refused, configuration, counts.refusals)
        durations.add_metric(
            [configuration], _buckets_of(counts), sum_value=counts.seconds
        )
    yield from (sent, durations, renewals, refused)


def _buckets_of(counts: SendCounts) -> list[tuple[str, float]]:
    """Return how many attempts took at most as long as each bound."""
    bounds = [*map(str, BUCKETS), "+Inf"]
    total = 0
    buckets: list[tuple[str, float]] = []
    for bound, count in zip(bounds, counts.durations, strict=True):
        total += count
        buckets.append((bound, total))
    return buckets


def _rotation_metrics(metrics: Metrics) -> Iterator[Metric]:
    """Yield the metrics of rotated credentials, by configuration."""
    steps = CounterMetricFamily(
        "outkey_rotation_steps",
        "Steps of rotations, such as promoted and refused.",
        labels=("configuration", "step"),
    )
    for configuration, counts in sorted(metrics.sends.items()):
        _add_all(steps, configuration, counts.rotation_steps)
    state = GaugeMetricFamily(
        "outkey_rotation_state",
        "1 for the state that a rotation has.",
        labels=("configuration", "state"),
    )
    results = GaugeMetricFamily(
        "outkey_rotation_trial_requests",
        "Requests with the next credentials, in the trial or the last one.",
        labels=("configuration", "result"),
    )
    for configuration, rotation in sorted(metrics.rotations.items()):
        state.add_metric([configuration, str(rotation.state)], 1)
        _add_all(results, configuration, asdict(rotation.tally))
    yield from (steps, state, results)


def _run_metrics(metrics: Metrics) -> Iterator[Metric]:
    """Yield the metrics of runs, by line."""
    ended = CounterMetricFamily(
        "outkey_runs",
        "Runs that ended, without dry runs and those of deliveries.",
        labels=("line", "state"),
    )
    records = CounterMetricFamily(
        "outkey_records",
        "Records that runs and deliveries brought.",
        labels=("line", "outcome"),
    )
    done_at = GaugeMetricFamily(
        "outkey_last_complete_run_timestamp_seconds",
        "When the last complete run of a line ended.",
        labels=("line",),
    )
    for line, counts in sorted(metrics.runs.items()):
        _add_all(ended, line, counts.runs)
        _add_all(records, line, counts.records)
        if counts.done_at:
            done_at.add_metric([line], counts.done_at)
    yield from (ended, records, done_at)
    yield _gauge(
        "outkey_waiting_runs", "Runs that are due and wait.", metrics.waiting_runs
    )
    yield _gauge("outkey_running_runs", "Active runs.", metrics.running_runs)


def _delivery_metrics(metrics: Metrics) -> Iterator[Metric]:
    """Yield the metrics of deliveries, by webhook."""
    stored = GaugeMetricFamily(
        "outkey_webhook_deliveries",
        "Deliveries in the inbox.",
        labels=("webhook", "state"),
    )
    for webhook, states in sorted(metrics.deliveries.items()):
        _add_all(stored, webhook, states)
    refused = CounterMetricFamily(
        "outkey_webhook_refused_deliveries",
        "Deliveries that were refused.",
        labels=("webhook", "reason"),
    )
    for webhook, reasons in sorted(metrics.refused_deliveries.items()):
        _add_all(refused, webhook, reasons)
    yield from (stored, refused)


def _add_all(
    family: CounterMetricFamily | GaugeMetricFamily,
    name: str,
    counts: Mapping[str, int],
) -> None:
    """Add a sample for each key of some counts."""
    for key, count in sorted(counts.items()):
        family.add_metric([name, key], count)


def _gauge(name: str, documentation: str, value: float) -> GaugeMetricFamily:
    """Return a metric with one value."""
    return GaugeMetricFamily(name, documentation, value=value)


def write_metrics(metrics: Metrics, version: str) -> bytes:
    """Return the text that Prometheus scrapes."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(MetricsCollector(metrics, version))
    return generate_latest(registry)
