from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outkey.foundation.core.stored_times import LONGEST_WAIT
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sending.core.request.rate_budget import (
    MAX_LENGTH,
    MAX_VALUES,
    seconds_until_reset,
)

NOW = 1_800_000_000.0


def wait_after(*headers: tuple[str, str]) -> float:
    return seconds_until_reset(Response(200, ResponseHeaders(headers)), NOW)


def stated(value: str) -> float:
    return wait_after(("RateLimit", value))


@pytest.mark.parametrize("prefix", ["X-RateLimit", "x-rate-limit", "RateLimit"])
@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        ("30", 30),
        ("0", 0),
        ("1.5", 1.5),
        ("90000", LONGEST_WAIT),
        (f"{NOW + 30:.0f}", 30),
        (f"{NOW + 0.25}", 0.25),
        (f"{1000 * (NOW + 30):.0f}", 30),
        (f"{NOW - 30:.0f}", 0),
        ("9" * 16, LONGEST_WAIT),
    ],
)
def test_a_spent_budget_ends_at_the_reset_in_seconds_or_as_a_unix_time(
    prefix: str, reset: str, seconds: float
) -> None:
    headers = (f"{prefix}-Remaining", "0"), (f"{prefix}-Reset", reset)
    assert wait_after(*headers) == pytest.approx(seconds)


def test_a_unix_time_is_one_of_the_clock_of_the_server() -> None:
    an_hour_ahead = formatdate(NOW + 3600, usegmt=True)
    headers = (
        ("Date", an_hour_ahead),
        ("X-RateLimit-Remaining", "0"),
        ("X-RateLimit-Reset", f"{NOW + 3600 + 20:.0f}"),
    )
    assert wait_after(*headers) == 20


@pytest.mark.parametrize(
    "remaining",
    ["1", "-0", "-1", "", "none", "0x0", "0e5", "²", "+0", "0 0", "9" * 17, "0" * 17],
)
def test_a_budget_that_is_left_or_is_no_number_delays_nothing(remaining: str) -> None:
    headers = ("X-RateLimit-Remaining", remaining), ("X-RateLimit-Reset", "30")
    assert wait_after(*headers) == 0
    assert stated(f'"p";r={remaining};t=30') == 0


@pytest.mark.parametrize("reset", ["-5", "soon", "", "1e9", "nan", "inf", "9" * 17])
def test_a_reset_that_is_no_number_delays_nothing(reset: str) -> None:
    headers = ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", reset)
    assert wait_after(*headers) == 0
    assert stated(f'"p";r=0;t={reset}') == 0


def test_without_a_reset_or_without_a_remaining_nothing_is_stated() -> None:
    assert wait_after(("X-RateLimit-Remaining", "0")) == 0
    assert wait_after(("X-RateLimit-Reset", "30")) == 0
    assert wait_after(("X-RateLimit-Remaining", "0"), ("RateLimit-Reset", "30")) == 0
    assert wait_after() == 0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ('"default";r=0;t=30', 30),
        ('"default";r=5;t=30', 0),
        ("default; r=0; t=30", 30),
        ('"a";r=0;t=30, "b";r=0;t=40', 40),
        ('"a";r=0;t=30;pk=:dXNlcg==:', 30),
        ('"r=0;t=9, x";r=0;t=30', 30),
        ('"a \\" b";t=30;r=0', 30),
        ("limit=100, remaining=0, reset=30", 30),
        ("limit=100,remaining=0,reset=30", 30),
        ("remaining=7, reset=30", 0),
        ("limit=100, reset=30", 0),
        ("", 0),
        (",,,", 0),
        ('"open;r=0;t=30', 0),
    ],
)
def test_both_forms_of_the_draft_are_read(value: str, seconds: float) -> None:
    assert stated(value) == seconds


def test_of_two_policies_the_one_that_is_spent_counts() -> None:
    assert stated('"second";r=9;t=1, "day";r=0;t=7200') == 7200
    assert stated('"second";r=0;t=1, "day";r=9;t=7200') == 1
    headers = (("X-RateLimit-Remaining", "9, 0"), ("X-RateLimit-Reset", "1, 7200"))
    assert wait_after(*headers) == 7200
    headers = (
        ("X-RateLimit-Remaining", "0"),
        ("X-RateLimit-Remaining", "9"),
        ("X-RateLimit-Reset", "5"),
    )
    assert wait_after(*headers) == 5
    unpaired = (("X-RateLimit-Remaining", "0,9,9"), ("X-RateLimit-Reset", "5,6"))
    assert wait_after(*unpaired) == 0


def test_the_window_of_a_policy_stands_in_for_a_missing_reset() -> None:
    policies = ("RateLimit-Policy", '"minute";q=10;w=60, "hour";q=100;w=3600')
    assert wait_after(policies, ("RateLimit", '"hour";r=0')) == 3600
    assert wait_after(policies, ("RateLimit", '"other";r=0')) == 0
    assert wait_after(
        ("RateLimit-Policy", "10;w=60"), ("RateLimit", "remaining=0")
    ) == (60)
    assert wait_after(("RateLimit-Policy", '"a";q=10'), ("RateLimit", '"a";r=0')) == 0


def test_no_more_values_are_read_than_any_api_states() -> None:
    many = [("X-RateLimit-Remaining", "9"), ("X-RateLimit-Reset", "9")] * MAX_VALUES
    late = [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "30")]
    assert wait_after(*many, *late) == 0
    assert stated('"p";r=0;t=30;x="' + "y" * MAX_LENGTH + '"') == 0


NAMES = st.sampled_from(
    [
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
        "X-Rate-Limit-Remaining",
        "X-Rate-Limit-Reset",
        "RateLimit-Remaining",
        "RateLimit-Reset",
        "RateLimit",
        "RateLimit-Policy",
        "Date",
        "Age",
    ]
)
VALUES = st.one_of(
    st.text(max_size=60),
    st.text('0123456789.-+eE;=, "\\rtwlimitremainingset', max_size=60),
)


@given(headers=st.lists(st.tuples(NAMES, VALUES), max_size=30))
def test_whatever_a_server_states_the_wait_is_between_nothing_and_a_day(
    headers: list[tuple[str, str]],
) -> None:
    assert 0.0 <= wait_after(*headers) <= LONGEST_WAIT


@given(left=st.integers(0, 10), reset=st.integers(0, 10**9))
def test_every_spelling_states_the_same(left: int, reset: int) -> None:
    expected = 0.0 if left else min(float(reset), LONGEST_WAIT)
    assert stated(f'"p";r={left};t={reset}') == expected
    assert stated(f"limit=9, remaining={left}, reset={reset}") == expected
    for prefix in ("X-RateLimit", "X-Rate-Limit", "RateLimit"):
        headers = (f"{prefix}-Remaining", str(left)), (f"{prefix}-Reset", str(reset))
        assert wait_after(*headers) == expected
