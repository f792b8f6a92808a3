"""The rate budget that an API states in its responses: is it spent, and until when.

The spellings are those in use: X-RateLimit-Remaining and -Reset, X-Rate-Limit-…,
RateLimit-…, and the header RateLimit of draft-ietf-httpapi-ratelimit-headers, as its
versions up to 07 had it (`limit=10, remaining=0, reset=5`) and as it is since
(`"policy";r=0;t=5`). A value of another form states nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from outkey.foundation.core.stored_times import LONGEST_WAIT
from outkey.sending.core.request.message import Response, server_time

# A reset above is a Unix time, and above the second one in milliseconds.
UNIX_TIME = 1_000_000_000.0
UNIX_MILLISECONDS = 100_000_000_000.0
MAX_VALUES = 16  # of one name
MAX_LENGTH = 1024  # of one value
_PAIRS = {
    f"{prefix}-remaining": f"{prefix}-reset"
    for prefix in ("x-ratelimit", "x-rate-limit", "ratelimit")
}
_BUDGET = "ratelimit"
_POLICY = "ratelimit-policy"
_NAMES = frozenset({*_PAIRS, *_PAIRS.values(), _BUDGET, _POLICY})
_NUMBER = re.compile(r"[0-9]{1,16}(?:\.[0-9]{1,9})?", re.ASCII)
_MEMBER = re.compile(r"(?:^|,)[ \t]*(remaining|reset)[ \t]*=[ \t]*([0-9.]+)")
_STRING = r'"(?:[^"\\]|\\.)*"'
# An item of a list with its parameters (RFC 9651 §3.1).
_ITEM = re.compile(
    rf'[ \t]*({_STRING}|[^\s",;=]+)'
    rf'((?:[ \t]*;[ \t]*[a-z*][a-z0-9_.*-]*(?:=(?:{_STRING}|[^\s",;]*))?)*)'
    r"[ \t]*(?:,|$)"
)
_PARAMETER = re.compile(rf'([a-z*][a-z0-9_.*-]*)=({_STRING}|[^\s",;]*)')


def seconds_until_reset(response: Response, now: float) -> float:
    """Return for how many seconds a response says that no request is left.

    0.0 if one is left, or if it does not state when there will be more; a day at most.
    Of several budgets that are spent, the last reset counts.
    """
    stated = _stated_values(response)
    if not stated:
        return 0.0
    # A Unix time is one of the server's clock.
    now = server_time(response) or now
    waits = [_seconds(reset, now) for reset in _resets_of_spent(stated)]
    return max(waits, default=0.0)


def _stated_values(response: Response) -> Mapping[str, Sequence[str]]:
    """Return the first values of each header of a budget; they may be lists."""
    stated: dict[str, list[str]] = {}
    for name, value in response.headers:
        lower = name.lower()
        if lower in _NAMES and len(value) <= MAX_LENGTH:
            values = stated.setdefault(lower, [])
            if len(values) < MAX_VALUES:
                values.append(value)
    return stated


def _resets_of_spent(stated: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the reset of each budget of which nothing is left."""
    for remaining, reset in _PAIRS.items():
        yield from _paired_resets(stated.get(remaining, ()), stated.get(reset, ()))
    windows = _windows(stated.get(_POLICY, ()))
    for value in stated.get(_BUDGET, ()):
        members = dict(_MEMBER.findall(value))
        if members:
            budgets = {"": (members.get("remaining", ""), members.get("reset", ""))}
        else:
            budgets = {
                name: (parameters.get("r", ""), parameters.get("t", ""))
                for name, parameters in _items(value)
            }
        for name, (left, reset) in budgets.items():
            if _is_zero(left):
                yield reset or _window_of(name, windows)


def _paired_resets(remaining: Sequence[str], resets: Sequence[str]) -> Iterator[str]:
    """Yield the reset of each number of requests that is zero.

    Several numbers have as many resets, or all of them the same one.
    """
    left = _listed(remaining)
    moments = _listed(resets)
    if len(moments) == 1:
        moments *= len(left)
    if len(left) == len(moments):
        for number, moment in zip(left, moments, strict=True):
            if _is_zero(number):
                yield moment


def _listed(values: Sequence[str]) -> list[str]:
    items = [item.strip() for value in values for item in value.split(",")]
    return items[:MAX_VALUES]


def _items(value: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the name and the parameters of each item, up to one of another form."""
    position = 0
    while position < len(value) and (item := _ITEM.match(value, position)):
        yield item[1].strip('"'), dict(_PARAMETER.findall(item[2]))
        position = item.end()


def _windows(policies: Sequence[str]) -> dict[str, str]:
    """Return the seconds of each policy, by its name."""
    return {
        name: parameters["w"]
        for value in policies
        for name, parameters in _items(value)
        if "w" in parameters
    }


def _window_of(name: str, windows: Mapping[str, str]) -> str:
    """Return the window of a budget that states no reset; "" if it is unknown."""
    only = next(iter(windows.values())) if len(windows) == 1 else ""
    return windows.get(name, only)


def _is_zero(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None and float(text) == 0


def _seconds(reset: str, now: float) -> float:
    """Return the seconds until a reset, 0.0 if it is no number."""
    if _NUMBER.fullmatch(reset) is None:
        return 0.0
    value = float(reset)
    if value > UNIX_MILLISECONDS:
        value /= 1000
    if value > UNIX_TIME:
        value -= now
    return min(max(value, 0.0), LONGEST_WAIT)
