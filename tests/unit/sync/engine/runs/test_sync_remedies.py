"""What is said of a run that failed."""

import pytest

from outkey.foundation.core.errors import Cause, LineBusy, Paused, SecretMissing
from outkey.foundation.core.text import Text
from outkey.sending.core.diagnosis.reasons import REMEDIES
from outkey.sync.core.run.reasons import RUN_FAILURES, rejection_text, sync_failure
from outkey.sync.core.run.remedies import (
    RunHelp,
    cause_text,
    help_after,
    page_remedy_of,
    remedy_of,
    summary_of,
)


@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("server_error", str(REMEDIES[Cause.SERVER_ERROR])),
        ("secret_missing", SecretMissing().hint),
        ("killed", ""),
        ("a word of nobody", ""),
    ],
)
def test_a_cause_has_the_remedy_that_a_test_would_give(word: str, remedy: str) -> None:
    assert remedy_of(word) == remedy


def test_the_words_of_errors_and_of_token_endpoints_are_known() -> None:
    assert summary_of("secret_missing") == Cause.SECRET_MISSING.label
    assert summary_of("line_busy") == LineBusy().message
    assert summary_of("paused") == Paused().message
    assert summary_of("invalid_client")
    assert summary_of("gap") == RUN_FAILURES["gap"].summary
    assert summary_of("of_another_version") == "of another version"
    assert summary_of("") == ""


@pytest.mark.parametrize(
    ("cause", "helping"),
    [
        ("guard", RunHelp.ALLOW_REMOVAL),
        ("all_refused", RunHelp.OPEN_MAPPING),
        ("not_a_list", RunHelp.OPEN_MAPPING),
        ("killed", RunHelp.RUN_AGAIN),
        ("storage_unavailable", RunHelp.RUN_AGAIN),
        ("run_limit", RunHelp.OPEN_LINE),
        ("not_found", RunHelp.OPEN_LINE),
        ("line_paused", RunHelp.OPEN_LINE),
        ("invalid_credentials", RunHelp.TEST_CONFIGURATION),
        ("invalid_client", RunHelp.TEST_CONFIGURATION),
        ("a word of nobody", None),
        ("", None),
    ],
)
def test_a_cause_leads_to_the_page_that_helps(
    cause: str, helping: RunHelp | None
) -> None:
    assert help_after(cause) is helping


def test_a_page_names_no_command_where_it_has_a_button() -> None:
    assert "--allow-removal" in remedy_of("guard")
    assert "--" not in page_remedy_of("guard")
    assert page_remedy_of("gap") == remedy_of("gap")


def test_a_pause_that_stopped_a_run_may_be_over() -> None:
    assert cause_text("line_paused") == "stopped by a pause of the line"
    assert cause_text("gap") == summary_of("gap")


def test_an_error_that_ends_a_run_has_the_remedy_of_its_page() -> None:
    for reason, failure in RUN_FAILURES.items():
        error = sync_failure(reason)
        assert (error.message, error.hint) == (failure.summary, failure.remedy)
        assert remedy_of(reason) == error.hint
        assert sync_failure(reason, Text("more")).message == "more"


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("key_missing", "the key field is empty"),
        ("status_422", "the API returned status 422"),
        ("of_another_version", "of another version"),
    ],
)
def test_every_reason_of_a_rejected_record_has_words(reason: str, text: str) -> None:
    assert rejection_text(reason) == text


def test_a_run_that_the_network_rule_stopped_says_whose_rule_it_is() -> None:
    assert summary_of(Cause.EGRESS_DENIED) == "refused by outkey's network rule"
    assert summary_of(Cause.INVALID_CREDENTIALS) == "invalid credentials"
