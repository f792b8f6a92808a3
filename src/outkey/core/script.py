"""Signing scripts as data: what one is given, what it may return, and the check before it is kept.

Nothing here runs a script. A script may hold its own examples: a list of literals named GOLDEN,
each with a made-up secret, fixed inputs and the headers that they must give.
"""

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from outkey.core.errors import ConfigError, HeaderFormatError
from outkey.core.headers import MAX_HEADERS, check_name, check_value
from outkey.core.message import Header, Source
from outkey.core.secret import Secret

FUNCTION = "compute_auth_header"
MAX_SOURCE = 64 * 1024
MAX_BODY = 16 * 1024 * 1024
_GOLDEN = "GOLDEN"
_MOST_EXAMPLES = 20
_GOLDEN_KEYS = frozenset({"secret", "at", "name", "method", "url", "body", "expect"})


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """What one run of a script sees; `at` stops the clock for a trial."""

    place: str  # whose script it is: two places never share a process
    source: str = field(repr=False)
    secret: Secret | None
    name: str  # the sync line's
    configuration: str
    base_url: str
    username: str
    method: str
    url: str
    path: str
    query: str
    body: bytes = field(default=b"", repr=False)
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """One of a script's own examples."""

    secret: str
    at: float
    name: str
    method: str
    url: str
    body: bytes
    expect: Mapping[str, str]


def fingerprint(source: str) -> str:
    """Return what the audit knows a version of a script by."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


@lru_cache(maxsize=256)
def check_script(source: str) -> None:
    """Refuse a script that could not be run, with the line that is wrong."""
    if len(source.encode(errors="surrogatepass")) > MAX_SOURCE:
        raise _refused("is longer than 64 KiB")
    tree = _parsed(source)
    found = [n for n in tree.body if getattr(n, "name", "") == FUNCTION]
    if not found:
        raise _refused(f"has no function {FUNCTION}", hint=f"Write: def {FUNCTION}(sync_line): …")
    function = found[-1]
    if not isinstance(function, ast.FunctionDef):
        raise _refused(f"line {function.lineno}: {FUNCTION} must be a plain function, not async")
    arguments = function.args
    if len(arguments.posonlyargs + arguments.args) != 1 or arguments.kwonlyargs:
        raise _refused(f"line {function.lineno}: {FUNCTION} must take one parameter")
    list(examples(source))


def examples(source: str) -> Iterator[Example]:
    """Return the examples that a script holds."""
    for node in _parsed(source).body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == _GOLDEN for target in node.targets
        ):
            try:
                listed = ast.literal_eval(node.value)
            except (ValueError, TypeError, RecursionError):
                raise _golden(node, "must be a list of literals") from None
            if not isinstance(listed, list) or len(listed) > _MOST_EXAMPLES:
                raise _golden(node, f"must be a list of at most {_MOST_EXAMPLES}")
            for item in listed:
                yield _example(node, item)


def _example(node: ast.Assign, item: object) -> Example:
    if not isinstance(item, dict) or not set(item) <= _GOLDEN_KEYS:
        raise _golden(node, f"takes {', '.join(sorted(_GOLDEN_KEYS))}")
    body = item.get("body", b"")
    expect, at = item.get("expect"), item.get("at", 0)
    texts = {key: item.get(key, "") for key in ("secret", "name", "method", "url")}
    if (
        not isinstance(expect, dict)
        or not all(isinstance(text, str) for pair in expect.items() for text in pair)
        or not isinstance(at, int | float)
        or not isinstance(body, bytes | str)
        or not all(isinstance(text, str) for text in texts.values())
    ):
        raise _golden(node, "needs expect as texts by header name, and plain inputs")
    return Example(
        texts["secret"],
        float(at),
        texts["name"],
        texts["method"] or "GET",
        texts["url"] or "https://api.example/",
        body.encode() if isinstance(body, str) else body,
        expect,
    )


def _golden(node: ast.Assign, reason: str) -> ConfigError:
    return _refused(f"line {node.lineno}: {_GOLDEN} {reason}")


def _parsed(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        # Its text may quote the source; the line does not.
        raise _refused(f"line {error.lineno or 1}: this is not Python") from None
    except (RecursionError, MemoryError, ValueError):
        raise _refused("cannot be read as Python") from None


def _refused(reason: str, hint: str | None = None) -> ConfigError:
    return ConfigError(f"Script {reason}", field="script", hint=hint)


def headers_of(pairs: tuple[tuple[str, Secret], ...], secret: Secret | None) -> tuple[Header, ...]:
    """Return what a script gave as headers, through the same checks as everybody else's.

    The names are the script's own text: they are never repeated in what is said about them, and
    they are recorded, so that the secret must not stand in one.
    """
    if len(pairs) > MAX_HEADERS:
        raise HeaderFormatError(f"the script returned more than {MAX_HEADERS} headers")
    made: list[Header] = []
    for number, (name, value) in enumerate(pairs, start=1):
        place = f"script, header {number}"
        try:
            check_name(name, field=place)
        except HeaderFormatError:
            raise HeaderFormatError(
                "the script returned a header name that cannot be sent", field=place
            ) from None
        if secret is not None and secret.occurs_in(name):
            raise HeaderFormatError("the script returned the secret as a header name", field=place)
        checked = value.derive(lambda text, place=place: check_value(text, field=place))  # type: ignore[misc]  # bound now
        made.append(Header(name, checked, Source.SCRIPT))
    return tuple(made)
