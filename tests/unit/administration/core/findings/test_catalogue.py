"""Every check is one row with an id, a level, a message and a hint in plain words."""

import re

import pytest

from outkey.administration.core.findings.catalogue import ALL_CHECKS, FINDING_CHECKS
from outkey.administration.core.findings.notice_checks import NOTICE_CHECKS
from outkey.administration.core.operating.checklist import CHECKLIST
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Check, Level
from outkey.foundation.core.text import Text
from outkey.webhooks.core.settings.checks import NOTICE_OF_CHECK

ID = re.compile(r"[HWNL]\d{3}|P(-[a-z0-9]+)+")


def test_every_id_has_its_form_and_one_level() -> None:
    levels = {check.id: check.level for check in FINDING_CHECKS}
    for check in FINDING_CHECKS:
        assert ID.fullmatch(check.id)
        assert check.level is levels[check.id]
    numbers = sorted(check for check in levels if not check.startswith("P-"))
    assert numbers == [
        *(f"H{number:03}" for number in range(1, 18)),  # webhooks
        *(f"L{number:03}" for number in range(1, 26)),
        *(f"L{number:03}" for number in range(30, 41)),  # the requests of a push
        *(f"L{number:03}" for number in range(44, 48)),  # formats
        *(f"L{number:03}" for number in range(50, 54)),  # changed shapes
        *(f"L{number:03}" for number in range(60, 66)),  # parents
        *(f"L{number:03}" for number in range(70, 74)),  # windows
        *(f"L{number:03}" for number in range(80, 87)),  # jobs
        "N001",
        *(f"W{number:03}" for number in range(1, 14)),
    ]


def test_notices_and_lines_of_the_check_list_have_ids_of_their_own() -> None:
    others = [check.id for check in (*NOTICE_CHECKS, *CHECKLIST)]
    assert len(set(others)) == len(others)
    assert set(others).isdisjoint(check.id for check in FINDING_CHECKS)


def test_a_finding_opens_a_notice_that_there_is() -> None:
    opened = {check.notice for check in ALL_CHECKS if check.notice}
    assert opened <= {check.id for check in NOTICE_CHECKS}
    assert opened == set(NOTICE_OF_CHECK.values())


def test_no_message_is_written_twice() -> None:
    messages = [check.message for check in ALL_CHECKS]
    assert len(set(messages)) == len(messages)


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.id)
def test_a_message_is_a_phrase_and_a_hint_a_sentence(check: Check) -> None:
    assert not check.message.endswith(".")
    assert check.hint.endswith(".") or check.level is Level.NOTICE


def test_a_finding_has_the_values_in_message_and_hint() -> None:
    check = Check("W999", Level.WARNING, "{name} is odd", "Change {name}.")
    finding = check.finding("some.field", name="{x}")
    assert (finding.id, finding.level) == ("W999", Level.WARNING)
    assert (finding.message, finding.hint) == ("{x} is odd", "Change {x}.")
    assert isinstance(finding.message, Text)
    assert finding.message.template == "{name} is odd"
    assert finding.field == "some.field"


def test_a_finding_from_an_error_says_what_the_error_says() -> None:
    check = Check("L999", Level.ERROR, "invalid", "Correct it.")
    error = ConfigError("no such thing", hint="Make one.", field="a")
    finding = check.finding_from(error)
    assert (finding.message, finding.hint) == ("no such thing", "Make one.")
    assert finding.field == "a"
    assert check.finding_from(error, "b").field == "b"
