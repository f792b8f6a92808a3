"""Recognizing what stands where a credential goes, and what a credential looks like."""

import re
from functools import cache

from outkey.sending.core.request.headers import looks_like_credential

VARIABLE = re.compile(r"\{\{([^{}]{1,80})\}\}")
_WORD = (
    r"(?:api|access|auth|bearer|client|secret|private|personal|refresh|app|account|"
    r"session|user|id|jwt|oauth|oauth2?|my|the|your|a|an|test|live|server|service)"
)
_NOUN = (
    r"(?:key|token|secret|password|passwd|pass|pwd|username|user|credentials?|jwt|id|"
    r"sid|login|email)"
)
_PLACEHOLDERS = (
    r"<[^<>]*>",
    r"\[[^\[\]]*\]",
    r"\{[^{}]*\}",
    r"%[A-Z_]+%",
    r":[a-z_]+",
    r"\$\{?[A-Z_][A-Z0-9_]*\}?",
    r"[x*#.•_-]{3,}",
    r"(?:[a-z0-9]+[_-])*x{3,}(?:[_-]?x{3,})*",
    r".*(?:\.\.\.|…).*",
    r".*(?:x{6,}|\*{3,}).*",
    r"(?:add|insert|put|enter|replace|paste|use|set)[ _-].*",
    r".*[ _-](?:here|goes[ _-]here)",
    r"your[ _-]?.*",
    r"my[ _-]?(?:secret|token|key|password|api.*|access.*)",
    r"change[ _-]?me",
    r"(?:foo|bar|foobar|example|sample|dummy|none|null|undefined)",
    r"[a-z0-9_/+-]*example(?:key|token|secret)?",
    rf"(?:{_WORD}[ _-]?){{0,3}}{_NOUN}",
    # Keys of vendors' documentation, which open nothing.
    r"sk_test_(?:4eC39HqLyjWDarjtT1zdp7dc|BQokikJOvBiI2HlWgH4olfQ2)",
)
_LONGEST_PLACEHOLDER = 120
# Names of parameters that look like credentials and are not.
_NOT_A_CREDENTIAL = re.compile(
    r"(?:next|page|pagination|continuation|skip|sync|start|cursor|delta)[_-]?token"
    r"|keywords?|(?:sort|order|group|partition|primary|foreign|start|end|next|last)"
    r"[_-]?key|author(?:s|[_-]?id)?|author|tokens|max[_-]?tokens|keys|token[_-]?type"
    r"|.*authority.*",
    re.IGNORECASE,
)
_CREDENTIAL_PARAMETER = re.compile(
    r"app[_-]?id|appid|sig|hapikey|pwd|pass|passcode|passphrase|pin|otp|jwt|sid"
    r"|access[_-]?id|(?:client[_-]?)?assertion",
    re.IGNORECASE,
)
# A part of a path that is a credential: a bot's token, a webhook's key.
_SECRET_SEGMENT = re.compile(
    r"bot\d{5,}:[\w-]{20,}"
    r"|(?=[^/]*[a-z])(?=[^/]*[A-Z])(?=[^/]*\d)[A-Za-z0-9_-]{22,}"
)
# A value that is a credential whatever its header is called.
_CREDENTIAL_VALUE = re.compile(r"(?:bearer|basic|token)\s+\S{8,}", re.IGNORECASE)
# Variables that are named after a credential and hold none.
_NOT_A_SECRET_VARIABLE = re.compile(
    r"ur[il]|host|domain|origin|server|path|id$|name$|type$|version|realm",
    re.IGNORECASE,
)

# JSON Web Tokens, and the prefixes of keys of well-known providers.
_KEY = re.compile(
    r"eyJ[\w-]{8,}\.[\w-]{2,}|(?:sk|pk|rk)_(?:live|test)_\w|gh[pousr]_\w|glpat-\w"
    r"|xox[abeprs]-\w|SG\.\w|AKIA[0-9A-Z]{12}|AIza\w{8}|sk-\w{2,}"
)


def is_placeholder(text: str) -> bool:
    """Whether a text stands for a credential that was left out, or is empty."""
    text = text.strip().strip("'\"")
    if not text or VARIABLE.search(text):
        return True
    if len(text) > _LONGEST_PLACEHOLDER:
        return False
    return any(pattern.fullmatch(text) for pattern in _placeholder_patterns())


@cache  # compiled for the first text: most commands ask about none
def _placeholder_patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in _PLACEHOLDERS)


def is_secret_parameter(name: str) -> bool:
    """Whether a query parameter or a member of a body usually carries a secret."""
    if _NOT_A_CREDENTIAL.fullmatch(name):
        return False
    return looks_like_credential(name) or bool(_CREDENTIAL_PARAMETER.fullmatch(name))


def is_secret_segment(segment: str) -> bool:
    """Whether a part of a URL's path looks like a credential."""
    return bool(_SECRET_SEGMENT.fullmatch(segment))


def is_secret_variable(name: str) -> bool:
    """Whether a variable is named as one that holds a credential."""
    return is_secret_parameter(name) and not _NOT_A_SECRET_VARIABLE.search(name)


def is_secret_value(value: str) -> bool:
    """Whether a value is a credential, or a variable for one, whatever its name is."""
    text = value.strip()
    if _CREDENTIAL_VALUE.fullmatch(text) or _KEY.match(text) or is_secret_segment(text):
        return True
    return any(is_secret_variable(name.strip()) for name in VARIABLE.findall(value))
