"""Configurations, lines, runs and presets as programs read them."""

import json

from outkey.administration.adapters.preset_files import PresetFiles
from outkey.administration.core.presets.facts import preset_facts, whole_facts
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.facts import row_facts, summary_facts
from outkey.sending.core.configuration.health import Health, Status
from outkey.sync.core.line.facts import line_facts, run_facts
from outkey.sync.core.line.line import SyncLine
from outkey.sync.core.run.run import Run
from outkey.testing import configuration
from outkey.testing.fakes.storage import memory_registry
from unit.sync.engine.pull.test_sync_run import PULL


def test_a_summary_says_when_it_was_verified() -> None:
    registry = memory_registry([configuration(no_auth_reason="public_api")])
    (summary,) = registry.summaries()
    facts = summary_facts(summary, Status.NEVER_TESTED)
    assert facts["last_verified_at"] is None
    assert (facts["name"], facts["status"]) == ("acme", "never_tested")
    verified = summary._replace(health=Health().after_test(0.0, ""))
    facts = summary_facts(verified, Status.WORKING)
    assert facts["last_verified_at"] == "1970-01-01T00:00:00Z"
    assert "health" not in facts


def test_a_secret_row_names_the_text_around_its_secret() -> None:
    rows = (
        CustomHeader("X-Key", "", secret=True),
        CustomHeader("X-Token", "Token {secret}", secret=True),
        CustomHeader("X-Tenant", "7", secret=False),
    )
    made = configuration(headers=rows)
    key, token, tenant = (row_facts(made, row) for row in rows)
    assert "text" not in key
    assert token["text"] == "Token {secret}"
    assert (tenant["value"], tenant["secret"]) == ("7", False)


def test_a_line_has_its_request_and_its_records() -> None:
    bare = line_facts(SyncLine("orders", "acme", "GET", "/orders"), ())
    assert bare == {
        "name": "orders",
        "configuration": "acme",
        "method": "GET",
        "path": "/orders",
        "paused": False,
    }
    line = SyncLine("orders", "acme", "GET", "/orders", PULL)
    facts = line_facts(line, {"orders"})
    assert facts["paused"]
    assert facts["target"] == PULL.target


def test_a_run_is_json() -> None:
    facts = run_facts(Run("7", "orders", "ada", 5.0))
    assert (facts["run"], facts["state"], facts["cause"]) == ("7", "running", None)
    assert facts["started_at"] == "1970-01-01T00:00:05Z"
    assert (facts["ended_at"], facts["due_at"]) == (None, None)
    json.dumps(facts)


def test_a_preset_is_listed_in_short_and_shown_as_a_whole() -> None:
    for preset in PresetFiles().all():
        short = preset_facts(preset)
        whole = whole_facts(preset)
        assert short["methods"] == [*preset.methods]
        assert whole["methods"].keys() == preset.methods.keys()  # type: ignore[attr-defined]
        json.dumps(whole)
