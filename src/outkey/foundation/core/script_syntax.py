"""The syntax of a script, checked before it is stored: its function and imports."""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text

FUNCTION = "compute_auth_header"
TRANSFORM = "transform"
MAX_SOURCE = 64 * 1024
# Python 3.11 takes a second for one f-string of 64 KiB with 20,000 braces, and all
# threads wait.
_MAX_BRACES = 2000
# As in sending/adapters/scripts_locked/preload.py,
# which is loaded alone and cannot import this.
_MODULES = """
base64 binascii bisect calendar collections collections.abc contextlib copy dataclasses
datetime decimal email.utils enum fractions functools hashlib heapq hmac html itertools
json math numbers operator random re secrets string struct textwrap time types typing
unicodedata urllib.parse uuid zlib zoneinfo
"""
OFFERED = (*_MODULES.split(), "cryptography")
IMPORT_HINT = Text(
    "Scripts may import {modules} and {last}.",
    modules=", ".join(OFFERED[:-1]),
    last=OFFERED[-1],
)
_ROOTS = frozenset(name.partition(".")[0] for name in OFFERED)
# Not offered although its package is; many users try it.
_ABSENT = frozenset({"urllib.request"})
_WELL_KNOWN = """
aiohttp boto3 botocore Crypto dateutil httpx jose joserfc jwt nacl numpy oauthlib pandas
pytz requests requests_oauthlib urllib3 yaml
"""
_IMPORT_ERRORS = frozenset(
    {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
)
_KEY_FUNCTION = "get_secret_key"
_GOLDEN = "GOLDEN"
_MAX_EXAMPLES = 20
# What a result may consist of, besides headers alone.
_PARTS = frozenset({"headers", "query"})
_GOLDEN_KEYS = frozenset({"secret", "at", "name", "method", "url", "body", "expect"})


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
    expect_query: Mapping[str, str]


@lru_cache(maxsize=256)
def check_script(source: str) -> None:
    """Refuse a script that could not be run, with the line that is wrong."""
    _check_function(source, FUNCTION, "sync_line")
    list(examples(source))


def check_transform(source: str) -> None:
    """Refuse the script of a sync line that could not be run, with the wrong line."""
    _check_function(source, TRANSFORM, "record")
    check_imports(source)


def _check_function(source: str, name: str, parameter: str) -> None:
    """Refuse a script without a plain function of this name with one parameter."""
    if len(source.encode(errors="surrogatepass")) > MAX_SOURCE:
        raise script_error(Text("Script is longer than 64 KiB"))
    if source.count("{") > _MAX_BRACES:
        raise script_error(
            Text("Script has more than {limit} opening braces", limit=_MAX_BRACES)
        )
    functions = [
        node for node in parse_script(source).body if getattr(node, "name", "") == name
    ]
    if not functions:
        raise script_error(
            Text("Script has no function {name}", name=name),
            hint=Text(
                "Write: def {name}({parameter}): …", name=name, parameter=parameter
            ),
        )
    function = functions[-1]
    if not isinstance(function, ast.FunctionDef):
        raise script_error(
            Text(
                "Script line {line}: {name} must be a plain function, not async",
                line=function.lineno,
                name=name,
            )
        )
    arguments = function.args
    if len(arguments.posonlyargs + arguments.args) != 1 or arguments.kwonlyargs:
        raise script_error(
            Text(
                "Script line {line}: {name} must take one parameter",
                line=function.lineno,
                name=name,
            )
        )


def check_imports(source: str) -> None:
    """Refuse a script that imports an unavailable module and does not catch that.

    For a script that is about to be saved: one that was saved before stays readable.
    """
    for line, name in sorted(_uncaught_imports(parse_script(source))):
        root = name.partition(".")[0]
        if root in _ROOTS and name not in _ABSENT:
            continue
        if name in _ABSENT or root in {*sys.stdlib_module_names, *_WELL_KNOWN.split()}:
            message = Text(
                "Script line {line}: {module} cannot be imported",
                line=line,
                module=name if name in _ABSENT else root,
            )
        else:  # any other name is text of the script, which is not repeated
            message = Text(
                "Script line {line}: this module cannot be imported", line=line
            )
        raise script_error(message, hint=IMPORT_HINT)


@lru_cache(maxsize=256)
def asks_for_secret(source: str) -> bool:
    """Whether a script calls get_secret_key, as far as its text shows."""
    return _KEY_FUNCTION in source and any(
        isinstance(node, ast.Attribute) and node.attr == _KEY_FUNCTION
        for node in ast.walk(parse_script(source))
    )


def _uncaught_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of every import whose failure is not caught."""
    pending: list[ast.AST] = [tree]  # no recursion: expressions may be very deep
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Try) and any(
            map(_catches_import_error, node.handlers)
        ):
            pending += [*node.handlers, *node.orelse, *node.finalbody]
        elif not _is_optional_block(node):
            pending += ast.iter_child_nodes(node)


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    """Whether an except clause catches the failure of an import."""
    return handler.type is None or not _IMPORT_ERRORS.isdisjoint(names_in(handler.type))


def _is_optional_block(node: ast.AST) -> bool:
    """Whether an import in a block may fail, or is for type checkers only."""
    if isinstance(node, ast.With):
        return any(not _IMPORT_ERRORS.isdisjoint(names_in(item)) for item in node.items)
    return isinstance(node, ast.If) and "TYPE_CHECKING" in names_in(node.test)


def names_in(node: ast.AST) -> set[str]:
    """Return the names and attributes that an expression uses."""
    return {str(getattr(n, "id", getattr(n, "attr", ""))) for n in ast.walk(node)}


def examples(source: str) -> Iterator[Example]:
    """Yield the examples that a script contains."""
    assignments = [node for node in parse_script(source).body if _names_golden(node)]
    for node in assignments:
        line = node.lineno
        if node is not assignments[0] or not isinstance(node, ast.Assign):
            raise script_error(
                Text(
                    "Script line {line}: GOLDEN must be assigned once, as a plain list",
                    line=line,
                )
            )
        try:
            items = ast.literal_eval(node.value)
        except (ValueError, TypeError, RecursionError):
            raise script_error(
                Text("Script line {line}: GOLDEN must be a list of literals", line=line)
            ) from None
        if not isinstance(items, list) or len(items) > _MAX_EXAMPLES:
            raise script_error(
                Text(
                    "Script line {line}: GOLDEN must be a list of at most {limit}",
                    line=line,
                    limit=_MAX_EXAMPLES,
                )
            )
        for item in items:
            yield _read_example(line, item)


def _names_golden(node: ast.stmt) -> bool:
    """Whether a statement assigns GOLDEN."""
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    return any(
        isinstance(target, ast.Name) and target.id == _GOLDEN for target in targets
    )


def _read_example(line: int, item: object) -> Example:
    """Return one example of GOLDEN, or refuse it with its line."""
    if not isinstance(item, dict) or not set(item) <= _GOLDEN_KEYS:
        raise script_error(
            Text(
                "Script line {line}: an example of GOLDEN has an unknown key; it takes"
                " {keys}",
                line=line,
                keys=", ".join(sorted(_GOLDEN_KEYS)),
            )
        )
    body = item.get("body", b"")
    expect, expect_query = _expectation(item.get("expect"))
    at = item.get("at", 0)
    texts = {key: item.get(key, "") for key in ("secret", "name", "method", "url")}
    if (
        not _has_texts(expect)
        or not _has_texts(expect_query)
        or not isinstance(at, int | float)
        or not isinstance(body, bytes | str)
        or not all(isinstance(text, str) for text in texts.values())
    ):
        raise script_error(
            Text(
                "Script line {line}: GOLDEN needs expect as texts by header name, and"
                " plain inputs",
                line=line,
            )
        )
    try:
        moment = float(at)
        data = body.encode() if isinstance(body, str) else body
    except (OverflowError, UnicodeEncodeError):
        raise script_error(
            Text(
                "Script line {line}: GOLDEN has an invalid number for at, or an invalid"
                " body",
                line=line,
            )
        ) from None
    return Example(
        secret=texts["secret"],
        at=moment,
        name=texts["name"],
        method=texts["method"] or "GET",
        url=texts["url"] or "https://api.example/",
        body=data,
        expect=expect,
        expect_query=expect_query,
    )


def _expectation(expect: Any) -> tuple[Any, Any]:  # noqa: ANN401 - any literal
    """Return the expected headers and parameters; they may not be texts.

    As in a result of a script, `headers` and `query` are meant where one of them is a
    mapping.
    """
    if not isinstance(expect, dict):
        return expect, {}
    if not any(isinstance(expect.get(part), dict) for part in _PARTS):
        return expect, {}
    if not set(expect) <= _PARTS:
        return None, {}
    return expect.get("headers", {}), expect.get("query", {})


def _has_texts(value: object) -> bool:
    """Whether a value maps texts to texts."""
    return isinstance(value, dict) and all(
        isinstance(text, str) for pair in value.items() for text in pair
    )


def parse_script(source: str) -> ast.Module:
    """Return the syntax tree of a script, or refuse it with the invalid line."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        # Its text may quote the source; the line does not.
        raise script_error(
            Text("Script line {line}: this is not Python", line=error.lineno or 1)
        ) from None
    except (RecursionError, MemoryError, ValueError):
        raise script_error(Text("Script cannot be read as Python")) from None


def script_error(message: Text, hint: Text | None = None) -> ConfigError:
    """Return the error of a script that cannot be saved."""
    return ConfigError(message, field="script", hint=hint)
