"""The operator's policy: reading it, and refusing what it does not allow."""

from collections.abc import Iterable
from dataclasses import fields

from outkey.core.config.choices import Environment
from outkey.core.config.configuration import Configuration
from outkey.core.config.toml import parse_toml
from outkey.core.errors import BlockedByPolicy, ConfigError
from outkey.core.findings.checks import Finding
from outkey.core.findings.posture import (
    CHECKS,
    LONGEST_DAYS,
    Policy,
    posture_of,
    subject_of,
)

_LONGEST = 64 * 1024


def refuse_blocked(policy: Policy, configurations: Iterable[Configuration]) -> None:
    """Refuse configurations with a weakness that the policy of their environment does not allow.

    Only what they say themselves counts: neither secrets nor history are looked at.
    """
    blocked: list[Finding] = []
    messages = []
    for configuration in configurations:
        blocking = policy.blocking.get(configuration.environment, ())
        posture = posture_of(subject_of(configuration)) if blocking else ()
        if found := [finding for finding in posture if finding.id in blocking]:
            said, ids = (
                "; ".join(f.message for f in found),
                ", ".join(f.id for f in found),
            )
            policed = f"the policy for {configuration.environment} blocks {ids}"
            messages.append(f"configuration {configuration.name}: {said}; {policed}")
            blocked += found
    if blocked:
        hints = dict.fromkeys(finding.hint for finding in blocked)
        raise BlockedByPolicy(
            ". ".join(messages), hint=" ".join(hints), field=blocked[0].field
        )


def parse_policy(text: str) -> Policy:
    """Read a policy; whatever is not understood is refused, since it may be a demand."""
    try:
        document = parse_toml(text, longest=_LONGEST)
    except ConfigError:
        raise _unreadable("the policy is not TOML", "policy.toml") from None
    days = {known.name for known in fields(Policy)} - {"blocking"}
    values: dict[str, int] = {}
    blocking: dict[str, frozenset[str]] = {}
    for key, value in document.items():
        if key in days:
            values[key] = parse_days(value, key)
        elif key in set(Environment):
            blocking[key] = _blocking(value, key)
        else:
            known = ", ".join([*sorted(days), *Environment])
            raise _unreadable(
                "the policy has a key that is not known", key, f"Known: {known}."
            )
    return Policy(**values, blocking=blocking)


def parse_days(value: object, place: str) -> int:
    """Return a number of days, or refuse it."""
    if type(value) is not int or not 1 <= value <= LONGEST_DAYS:
        raise _unreadable(
            f"{place} is a number of days from 1 to {LONGEST_DAYS}", place
        )
    return value


def _blocking(section: object, environment: str) -> frozenset[str]:
    place = f"{environment}.blocking"
    listed = (
        section.get("blocking")
        if isinstance(section, dict) and len(section) == 1
        else None
    )
    if not isinstance(listed, list):
        raise _unreadable(
            "an environment of the policy has one key: blocking, a list", place
        )
    known = [check.id for check in CHECKS]
    if any(name not in known for name in listed):
        raise _unreadable(
            "the policy blocks a check that there is not, or that is not about"
            " configurations",
            place,
            f"Known: {', '.join(known)}.",
        )
    return frozenset(listed)


def _unreadable(
    message: str, place: str, hint: str = "Correct config/policy.toml."
) -> ConfigError:
    return ConfigError(message, field=place, hint=hint)
