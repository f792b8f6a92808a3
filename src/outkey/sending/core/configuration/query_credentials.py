"""Which parameters of a query are credentials: by name, by value, and in pairs."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from outkey.foundation.core.paging_words import (
    is_page_number,
    is_paging_parameter,
    words,
)
from outkey.sending.core.configuration.placeholders import (
    is_placeholder,
    is_secret_parameter,
    is_secret_value,
)

# InfluxDB 1 authenticates by u and p, Subsonic by u and p, or by u, t and s.
_USERS = words("u user username user_name usr login uid userid user_id account")
_PASSWORDS = words("p pw psw pass pwd passwd password passphrase pin")
_HASHES = words("k h hash")
_SHORTEST_HASH = 8
_SALTED = re.compile(r"[0-9a-fA-F]{16,}", re.ASCII)
_LONGEST_PAGE = 3  # digits of a page; a longer number beside a user is a password
_SHORTEST_RANDOM = 16
_LONGEST_RANDOM = 512
_RANDOM_TEXT = re.compile(r"[A-Za-z0-9+/=_.~-]+", re.ASCII)
_HEX = re.compile(r"(?=.*\d)(?=.*[A-Fa-f])[0-9A-Fa-f]{24,}", re.ASCII)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", re.ASCII)
_MOMENT = re.compile(r"\d{8}T\d{4,6}(?:\.\d+)?Z?", re.ASCII)
# Values of providers that show what they identify, such as cus_NffrFeUfNV2Hib.
_TYPED_ID = re.compile(r"[a-z]{2,12}[_-][A-Za-z0-9]+", re.ASCII)
_ID_NAME = re.compile(r"(?:.*[_-])?(?:ids?|uuid|guid|etag)|.*I[dD]s?", re.ASCII)
_LEAST_BITS = 3.0  # of a character; English words have fewer


@dataclass(frozen=True, slots=True)
class QueryCredentials:
    """The names of the parameters of one query that authenticate.

    `users` belong to a password in `secrets` and are not secret themselves. `unsure`
    may be credentials: only a user knows.
    """

    secrets: frozenset[str]
    users: frozenset[str]
    unsure: frozenset[str]


def query_credentials(parameters: Sequence[tuple[str, str]]) -> QueryCredentials:
    """Return which of the parameters of a query are credentials."""
    passwords = paired_passwords(parameters)
    secrets = {
        name
        for name, value in parameters
        if name.lower() in passwords or is_credential(name, value)
    }
    lower_secrets = {name.lower() for name in secrets}
    has_password = not lower_secrets.isdisjoint(_PASSWORDS | _HASHES | {"t"})
    users = {
        name
        for name, _ in parameters
        if has_password and name.lower() in _USERS and name not in secrets
    }
    unsure = {
        name
        for name, value in parameters
        if name not in secrets | users and _may_be_credential(name, value)
    }
    return QueryCredentials(frozenset(secrets), frozenset(users), frozenset(unsure))


def paired_passwords(parameters: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Return the names, in lower case, that another parameter makes credentials."""
    by_name = {name.lower(): value for name, value in parameters if value}
    names = by_name.keys()
    paired: set[str] = set()
    if names & _USERS:
        paired |= {
            name
            for name in names & _PASSWORDS
            if not (is_page_number(by_name[name]) and _is_short(by_name[name]))
        }
        paired |= {
            name for name in names & _HASHES if len(by_name[name]) >= _SHORTEST_HASH
        }
    if {"t", "s"} <= names and _SALTED.fullmatch(by_name["t"]):
        paired |= {"t", "s"}
    return frozenset(paired)


def _is_short(number: str) -> bool:
    return len(number) <= _LONGEST_PAGE


def is_credential(name: str, value: str) -> bool:
    """Whether a parameter by itself is a credential."""
    if is_paging_parameter(name, value):
        return False
    if is_secret_parameter(name) or is_secret_value(value):
        return True
    return _looks_random(value) and not _is_id(name, value)


def _may_be_credential(name: str, value: str) -> bool:
    """Whether a value is as random as a credential, but may well identify something."""
    return not is_paging_parameter(name, value) and _looks_random(value)


def _looks_random(value: str) -> bool:
    """Whether a text was made by a machine to be hard to guess, judged by its letters.

    Words, numbers, dates and placeholders are not.
    """
    text = value.strip()
    is_possible = (
        _SHORTEST_RANDOM <= len(text) <= _LONGEST_RANDOM
        and _RANDOM_TEXT.fullmatch(text)
        and not _MOMENT.fullmatch(text)
        and not is_placeholder(text)
    )
    if not is_possible:
        return False
    if _HEX.fullmatch(text) or _UUID.fullmatch(text):
        return True
    signs = [sign for sign in text if sign.isalnum()]
    kinds = [_kind_of(sign) for sign in signs]
    changes = sum(a is not b for a, b in pairwise(kinds))
    has_both = "digit" in kinds and len(set(kinds)) > 1
    return has_both and changes * 4 >= len(signs) and _bits(text) >= _LEAST_BITS


def _is_id(name: str, value: str) -> bool:
    text = value.strip()
    return bool(
        _ID_NAME.fullmatch(name) or _UUID.fullmatch(text) or _TYPED_ID.fullmatch(text)
    )


def _kind_of(sign: str) -> str:
    if sign.isdigit():
        return "digit"
    return "upper" if sign.isupper() else "lower"


def _bits(text: str) -> float:
    """Return the Shannon entropy of a text, in bits for each character."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)
