"""Metrics in the text that Prometheus reads, by the parser of its own library."""

import re
from dataclasses import fields, replace

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from docs.blocks import ROOT
from outkey.administration.adapters.metrics_prometheus import (
    MetricsCollector,
    write_metrics,
)
from outkey.administration.core.access.api_tokens import Scope
from outkey.administration.core.operating.metrics import Metrics, RotationMetrics
from outkey.administration.core.operating.send_counts import SendCounts
from outkey.administration.engine.access.api_access import open_access
from outkey.administration.engine.access.api_tokens import TokenWish
from outkey.administration.engine.editing.changes import ConfigurationChange
from outkey.administration.engine.operating.measuring import measure_rotations
from outkey.foundation.core.errors import ScopeMissing
from outkey.foundation.core.secret import Secret
from outkey.sending.core.rotation.credential_sets import RotationState, Tally
from outkey.sync.core.run.counts import RunCounts
from outkey.testing import configuration
from unit.application_in_memory import memory_host

GUIDE = (ROOT / "docs" / "guide" / "production.md").read_text("utf-8")
EMPTY = Metrics(
    sends={},
    rotations={},
    runs={},
    deliveries={},
    refused_deliveries={},
    waiting_runs=0,
    running_runs=0,
    workers=0,
    open_notices=0,
    is_sealed=False,
)
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples_of(metrics: Metrics) -> Samples:
    """Return what Prometheus would store."""
    text = write_metrics(metrics, "1.2.3").decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_every_measurement_is_written_with_its_labels() -> None:
    sends = SendCounts(sends={"ok": 3}, renewals={"ok": 1}, refusals={"paused": 2})
    sends.durations[0] = 2
    sends.durations[-1] = 1
    sends.seconds = 70.5
    sends.rotation_steps = {"refused": 1}
    rejected = RotationMetrics(RotationState.REJECTED, Tally(good=7, refused=1))
    runs = RunCounts(runs={"done": 4}, records={"created": 9}, done_at=1_800_000_000.0)
    metrics = replace(
        EMPTY,
        sends={'sh"op\n': sends},
        rotations={"crm": rejected},
        runs={"orders": runs, "new": RunCounts()},
        deliveries={"hook": {"failed": 2}},
        refused_deliveries={"hook": {"signature": 6}},
        waiting_runs=1,
        running_runs=2,
        workers=3,
        open_notices=4,
        is_sealed=True,
    )
    samples = samples_of(metrics)
    shop = ("configuration", 'sh"op\n')
    duration = "outkey_send_duration_seconds"
    assert samples["outkey_info", (("version", "1.2.3"),)] == 1
    assert samples["outkey_sends_total", (shop, ("outcome", "ok"))] == 3
    assert samples["outkey_token_renewals_total", (shop, ("outcome", "ok"))] == 1
    assert samples["outkey_refused_sends_total", (("code", "paused"), shop)] == 2
    assert samples["outkey_rotation_steps_total", (shop, ("step", "refused"))] == 1
    crm = ("configuration", "crm")
    assert samples["outkey_rotation_state", (crm, ("state", "rejected"))] == 1
    tried = "outkey_rotation_trial_requests"
    assert samples[tried, (crm, ("result", "good"))] == 7
    assert samples[tried, (crm, ("result", "refused"))] == 1
    assert samples[f"{duration}_bucket", (shop, ("le", "0.025"))] == 2
    assert samples[f"{duration}_bucket", (shop, ("le", "60.0"))] == 2
    assert samples[f"{duration}_bucket", (shop, ("le", "+Inf"))] == 3
    assert samples[f"{duration}_count", (shop,)] == 3
    assert samples[f"{duration}_sum", (shop,)] == 70.5
    line = ("line", "orders")
    assert samples["outkey_runs_total", (line, ("state", "done"))] == 4
    assert samples["outkey_records_total", (line, ("outcome", "created"))] == 9
    ended = "outkey_last_complete_run_timestamp_seconds"
    assert samples[ended, (line,)] == 1_800_000_000.0
    assert (ended, (("line", "new"),)) not in samples
    refused = (("reason", "signature"), ("webhook", "hook"))
    assert samples["outkey_webhook_refused_deliveries_total", refused] == 6
    stored = (("state", "failed"), ("webhook", "hook"))
    assert samples["outkey_webhook_deliveries", stored] == 2
    assert samples["outkey_waiting_runs", ()] == 1
    assert samples["outkey_running_runs", ()] == 2
    assert samples["outkey_workers", ()] == 3
    assert samples["outkey_open_notices", ()] == 4
    assert samples["outkey_sealed", ()] == 1
    # A new field needs a value above that is not the empty one, and a metric.
    for field in fields(Metrics):
        without = replace(metrics, **{field.name: getattr(EMPTY, field.name)})
        assert samples_of(without) != samples, field.name


def test_the_guide_lists_every_metric_with_its_labels() -> None:
    table = GUIDE.partition("| metric | labels |\n")[2].partition("\n\n")[0]
    listed = {
        name: set(re.findall(r"`(\w+)`", labels))
        for names, labels in re.findall(r"^\| (`.*?) \|(.*)\|$", table, re.MULTILINE)
        for name in re.findall(r"`(outkey_\w+)`", names)
    }
    assert listed == {
        name_in_guide(family): set(family._labelnames) or info_labels(family)
        for family in MetricsCollector(EMPTY, "1.2.3").collect()
    }


def name_in_guide(family: Metric) -> str:
    suffixes = {"counter": "_total", "info": "_info"}
    return family.name + suffixes.get(family.type, "")


def info_labels(family: Metric) -> set[str]:
    return {label for sample in family.samples for label in sample.labels}


def metrics_by_token(*configurations: str) -> Metrics:
    """Return what a token for these configurations may read; for all without any."""
    application = memory_host(configuration(name="shop")).application
    wish = TokenWish(
        name="prometheus",
        scopes=frozenset({Scope.READ}),
        configurations=configurations,
    )
    created = application.api_tokens.create(application.administration("ada"), wish)
    return open_access(application, created.text).metrics()


def test_a_token_for_all_configurations_may_read_metrics() -> None:
    metrics = metrics_by_token()
    assert metrics.waiting_runs == metrics.running_runs == metrics.workers == 0


def test_a_token_for_one_configuration_may_not_read_metrics() -> None:
    with pytest.raises(ScopeMissing):
        metrics_by_token("shop")


def test_rotations_are_measured_where_one_was_ever_begun() -> None:
    host = memory_host()
    application = host.application
    for name in ("plain", "shop"):
        made = configuration(name=name, authentication_type="bearer")
        change = ConfigurationChange(None, made, secrets={"token": Secret("old")})
        application.administration("ada").save(change)
    rotation = application.credential_rotation(application.administration("ada"))
    rotation.stage_secret(host.registry.get("shop"), "token", Secret("new"))
    assert measure_rotations(application, {"plain": SendCounts(sends={"ok": 1})}) == {}
    begun = {"shop": SendCounts(rotation_steps={"staged": 1})}
    assert measure_rotations(application, begun) == {
        "shop": RotationMetrics(RotationState.STAGED, Tally())
    }
