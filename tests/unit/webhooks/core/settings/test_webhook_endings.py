"""A sender may stop a scheme: users learn it before deliveries are refused."""

from datetime import UTC, date, datetime

import pytest

from outkey.webhooks.core.schemes.schemes import SCHEMES
from outkey.webhooks.core.settings.checks import ending_findings
from outkey.webhooks.core.settings.settings import Webhook
from outkey.webhooks.engine.form import offered_schemes


@pytest.mark.parametrize(
    ("day", "level"),
    [
        (date(2026, 1, 1), None),
        (date(2026, 1, 2), "notice"),
        (date(2026, 5, 31), "notice"),
        (date(2026, 6, 1), "warning"),
        (date(2026, 11, 19), "warning"),
    ],
)
def test_a_scheme_that_ends_is_a_notice_for_months_and_then_a_warning(
    day: date, level: str | None
) -> None:
    now = datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()
    findings = list(ending_findings(Webhook("crm", "highlevel", run="contacts"), now))
    assert [(found.id, found.level) for found in findings] == (
        [("H009", level)] if level else []
    )
    for found in findings:
        assert "2026-07-01" in found.message
        assert "highlevel_v2" in found.hint
        assert "outkey webhook secret crm" in found.hint


@pytest.mark.parametrize("scheme", ["highlevel_v2", "hmac", "nobody"])
def test_a_scheme_without_an_end_has_no_finding(scheme: str) -> None:
    assert list(ending_findings(Webhook("crm", scheme, run="contacts"), 4e9)) == []


def test_each_successor_is_a_scheme_that_does_not_end() -> None:
    endings = [scheme.ending for scheme in SCHEMES.values() if scheme.ending]
    assert endings
    for ending in endings:
        assert SCHEMES[ending.successor].ending is None


def test_the_form_and_the_list_name_the_day() -> None:
    senders = dict(offered_schemes()[0])
    assert senders["highlevel"] == "HighLevel (until 2026-07-01)"
    assert senders["highlevel_v2"] == "HighLevel, Ed25519"
    assert SCHEMES["highlevel"].facts() == {
        "name": "highlevel",
        "title": "HighLevel",
        "ends": "2026-07-01",
        "successor": "highlevel_v2",
    }
    assert SCHEMES["stripe"].facts()["ends"] is None
