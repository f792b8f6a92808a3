"""Scripts as data: what one is given, what it may return, and the check before it is kept.

Nothing here runs a script. A configuration's signs requests and may hold its own examples: a list
of literals named GOLDEN, each with a made-up secret, fixed inputs and the headers that they must
give. A sync line's transforms records.
"""

import ast
import hashlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from outkey.core.errors import ConfigError, HeaderFormatError
from outkey.core.request.headers import (
    MAX_HEADERS,
    check_name,
    check_value,
    of_connection,
)
from outkey.core.request.message import Header, Source
from outkey.core.secret import Secret

FUNCTION, TRANSFORM = (
    "compute_auth_header",
    "transform",
)  # what signs, and what changes a record
SEAL = "script"  # the name under which a script is vouched for
MAX_SOURCE = 64 * 1024
# Python 3.11 takes a second for one f-string of 64 KiB with 20,000 gaps, and all threads wait.
_MOST_BRACES = 2000
MAX_BODY = 16 * 1024 * 1024
MAX_RECORD = 256 * 1024
# As in adapters/scripts_locked/preload.py, which is loaded alone and cannot import this.
_MODULES = """
base64 binascii bisect calendar collections collections.abc contextlib copy dataclasses datetime
decimal email.utils enum fractions functools hashlib heapq hmac html itertools json math numbers
operator random re secrets string struct textwrap time types typing unicodedata urllib.parse uuid
zlib zoneinfo
"""
OFFERED = (*_MODULES.split(), "cryptography")
IMPORT_HINT = f"Scripts may import {', '.join(OFFERED[:-1])} and {OFFERED[-1]}."
_ROOTS = frozenset(name.partition(".")[0] for name in OFFERED)
# Beside one that is offered, and the one that people try.
_ABSENT = frozenset({"urllib.request"})
_WELL_KNOWN = """
aiohttp boto3 botocore Crypto dateutil httpx jose joserfc jwt nacl numpy oauthlib pandas pytz
requests requests_oauthlib urllib3 yaml
"""
_IMPORT_ERRORS = frozenset(
    {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
)
_ASKING = "get_secret_key"
_GOLDEN = "GOLDEN"
_MOST_EXAMPLES = 20
_GOLDEN_KEYS = frozenset({"secret", "at", "name", "method", "url", "body", "expect"})


@dataclass(frozen=True, slots=True)
class ScriptCall:
    """What one run of a script sees; `at` stops the clock for a trial."""

    place: str  # whose script it is: two places never share a process
    source: str = field(repr=False)
    secret: Secret | None = None
    name: str = ""  # the sync line's
    configuration: str = ""
    base_url: str = ""
    username: str = ""
    method: str = ""
    url: str = ""
    path: str = ""
    query: str = ""
    body: bytes = field(default=b"", repr=False)
    at: float | None = None
    shift: int = 0  # seconds that the API's clock is ahead, where its clock counts
    function: str = FUNCTION


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


def digest(source: str) -> str:
    """Return the SHA-256 of a script."""
    return hashlib.sha256(source.encode()).hexdigest()


def seal_of(source: str) -> Secret:
    """Return what a voucher must say of a script, so that only a saved one is given a secret."""
    return Secret(digest(source))


def fingerprint(source: str) -> str:
    """Return what the audit knows a version of a script by."""
    return digest(source)[:16]


@lru_cache(maxsize=256)
def check_script(source: str) -> None:
    """Refuse a script that could not be run, with the line that is wrong."""
    _check_function(source, FUNCTION, "sync_line")
    list(examples(source))


def check_transform(source: str) -> None:
    """Refuse a sync line's script that could not be run, with the line that is wrong."""
    _check_function(source, TRANSFORM, "record")
    check_imports(source)


def _check_function(source: str, name: str, parameter: str) -> None:
    if len(source.encode(errors="surrogatepass")) > MAX_SOURCE:
        raise _refused("is longer than 64 KiB")
    if source.count("{") > _MOST_BRACES:
        raise _refused(f"has more than {_MOST_BRACES} opening braces")
    found = [node for node in _parsed(source).body if getattr(node, "name", "") == name]
    if not found:
        raise _refused(
            f"has no function {name}", hint=f"Write: def {name}({parameter}): …"
        )
    function = found[-1]
    if not isinstance(function, ast.FunctionDef):
        raise _refused(
            f"line {function.lineno}: {name} must be a plain function, not async"
        )
    arguments = function.args
    if len(arguments.posonlyargs + arguments.args) != 1 or arguments.kwonlyargs:
        raise _refused(f"line {function.lineno}: {name} must take one parameter")


def check_imports(source: str) -> None:
    """Refuse a script that imports what no script can have, unless it is ready for the failure.

    For a script that is about to be kept: one that was kept before stays readable.
    """
    for line, name in sorted(_imported(_parsed(source))):
        root = name.partition(".")[0]
        if root in _ROOTS and name not in _ABSENT:
            continue
        # Other names are the script's own text, which is not repeated.
        known = root in {*sys.stdlib_module_names, *_WELL_KNOWN.split()}
        shown = name if name in _ABSENT else root if known else "this module"
        raise _refused(f"line {line}: {shown} cannot be imported", hint=IMPORT_HINT)


@lru_cache(maxsize=256)
def asks_for_secret(source: str) -> bool:
    """Tell whether a script calls get_secret_key, as far as its text shows."""
    return _ASKING in source and any(
        isinstance(node, ast.Attribute) and node.attr == _ASKING
        for node in ast.walk(_parsed(source))
    )


def _imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of every import whose failure nobody catches."""
    waiting: list[ast.AST] = [
        tree
    ]  # and not by recursion: expressions may be very deep
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Try) and any(map(_catches, node.handlers)):
            waiting += [*node.handlers, *node.orelse, *node.finalbody]
        elif not _skips(node):
            waiting += ast.iter_child_nodes(node)


def _catches(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or not _IMPORT_ERRORS.isdisjoint(_names(handler.type))


def _skips(node: ast.AST) -> bool:
    """Tell whether an import in a block may fail, or is for type checkers only."""
    if isinstance(node, ast.With):
        return any(not _IMPORT_ERRORS.isdisjoint(_names(item)) for item in node.items)
    return isinstance(node, ast.If) and "TYPE_CHECKING" in _names(node.test)


def _names(node: ast.AST) -> set[str]:
    return {str(getattr(n, "id", getattr(n, "attr", ""))) for n in ast.walk(node)}


def examples(source: str) -> Iterator[Example]:
    """Return the examples that a script holds."""
    found = [node for node in _parsed(source).body if _names_golden(node)]
    for node in found:
        if node is not found[0] or not isinstance(node, ast.Assign):
            raise _golden(node, "must be assigned once, as a plain list")
        try:
            listed = ast.literal_eval(node.value)
        except (ValueError, TypeError, RecursionError):
            raise _golden(node, "must be a list of literals") from None
        if not isinstance(listed, list) or len(listed) > _MOST_EXAMPLES:
            raise _golden(node, f"must be a list of at most {_MOST_EXAMPLES}")
        for item in listed:
            yield _example(node, item)


def _names_golden(node: ast.stmt) -> bool:
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    return any(
        isinstance(target, ast.Name) and target.id == _GOLDEN for target in targets
    )


def _example(node: ast.stmt, item: object) -> Example:
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
    try:
        moment, data = float(at), body.encode() if isinstance(body, str) else body
    except (OverflowError, UnicodeEncodeError):
        raise _golden(
            node, "has a number or a text that is no moment and no body"
        ) from None
    method, url = texts["method"] or "GET", texts["url"] or "https://api.example/"
    return Example(texts["secret"], moment, texts["name"], method, url, data, expect)


def _golden(node: ast.stmt, reason: str) -> ConfigError:
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


def headers_of(
    pairs: tuple[tuple[str, Secret], ...], secret: Secret | None
) -> tuple[Header, ...]:
    """Return what a script gave as headers, through the same checks as everybody else's.

    The names are the script's own text: they are never repeated in what is said about them, and
    they are shown in previews, so that the secret must not stand in one.
    """
    if len(pairs) > MAX_HEADERS:
        raise HeaderFormatError(f"the script returned more than {MAX_HEADERS} headers")
    if len({name.lower() for name, _ in pairs}) != len(pairs):
        raise HeaderFormatError(
            "the script returned one header twice, in two spellings"
        )
    made: list[Header] = []
    for number, (name, value) in enumerate(pairs, start=1):
        place = f"script, header {number}"
        try:
            check_name(name, field=place)
        except HeaderFormatError as error:
            raise _unsendable(name, error.hint, place) from None
        if secret is not None and secret.occurs_in(name):
            raise HeaderFormatError(
                "the script returned the secret as a header name", field=place
            )
        checked = value.derive(lambda text, place=place: check_value(text, field=place))  # type: ignore[misc]  # bound now
        made.append(Header(name, checked, Source.SCRIPT))
    return tuple(made)


def _unsendable(name: str, hint: str, place: str) -> HeaderFormatError:
    """Say why a name cannot be sent; one of our own list is shown as it stands there."""
    if own := of_connection(name):
        message = (
            f"the script returned the header {own}, which belongs to the connection"
        )
        hint = (
            "Leave it out of what the script returns; outkey sets it where it is"
            " needed."
        )
    else:
        message = (
            "the script returned a header name that is empty"
            " or has a character that no header name may have"
        )
    return HeaderFormatError(message, hint=hint, field=place)
