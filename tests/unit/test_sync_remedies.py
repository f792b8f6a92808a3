"""What is said of a run that failed."""

import pytest

from outkey.core.diagnosis import REMEDIES
from outkey.core.errors import Cause, SecretMissing
from outkey.core.sync.remedies import cause_of, remedy_of


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
    assert cause_of("secret_missing") == SecretMissing().message
    assert cause_of("invalid_client")
    assert cause_of("gap") == ""
