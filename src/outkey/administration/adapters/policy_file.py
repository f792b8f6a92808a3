"""The operator's policy: a file beside the key, and an environment variable."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from outkey.administration.core.policy.policy import Policy
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

_RETENTION = "OUTKEY_RETENTION_DAYS"


def read_policy(home: Path, environment: Mapping[str, str]) -> Policy:
    """Return the policy of a home; without a file, the default one."""
    file = home / "config" / "policy.toml"
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError):
        raise ConfigError(
            Text("the policy cannot be read as UTF-8 text"), field=file.name
        ) from None
    given = environment.get(_RETENTION, "")
    if not text and not given:
        return Policy()
    # Most installations have no policy, and need not load what reads one.
    from outkey.administration.core.policy.parsing import parse_days, parse_policy  # noqa: PLC0415

    policy = parse_policy(text)
    if not given:
        return policy
    days = parse_days(
        int(given) if given.isascii() and given.isdigit() else given, _RETENTION
    )
    return replace(policy, retention_days=days)
