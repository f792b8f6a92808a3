"""A dictionary of a Python file, read from its syntax. Nothing is executed.

What is no literal, such as `dlt.secrets["token"]`, becomes a variable to enter.
"""

import ast
import re
import warnings

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.tree import MAX_DEPTH, Table

MAX_SOURCE = 64 * 1024
# Python 3.11 takes a second for one f-string of 64 KiB with 20,000 braces.
_MAX_BRACES = 4000
_BRACKETS = re.compile(r"[\[({]|[\])}]")
_MAX_BITS = 512  # of an integer: a longer one cannot be written as a decimal
_NAME = re.compile(r"[^A-Za-z0-9_.]+")


def read_dictionary(source: str, keys: frozenset[str]) -> Table:
    """Return the first dictionary with these keys, or raise ConfigError."""
    for node in ast.walk(_parse(source)):
        if isinstance(node, ast.Dict):
            names = {part.value for part in node.keys if isinstance(part, ast.Constant)}
            if keys <= names:
                return _entries(node, 0)
    raise ConfigError(
        Text("the Python file has no dictionary with {names}", names=", ".join(keys))
    )


def _parse(source: str) -> ast.AST:
    """Return the syntax of a Python file within limits of length and depth."""
    depth = 0
    deepest = 0
    for match in _BRACKETS.finditer(source):
        depth += 1 if match[0] in "[({" else -1
        deepest = max(deepest, depth)
    if len(source) > MAX_SOURCE or source.count("{") > _MAX_BRACES:
        raise ConfigError(
            Text("the Python file is longer than {limit} KiB", limit=MAX_SOURCE // 1024)
        )
    if deepest > MAX_DEPTH:
        raise _too_deep()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ConfigError(Text("this is not valid Python")) from None


def _too_deep() -> ConfigError:
    return ConfigError(
        Text("the document is nested deeper than {limit} levels", limit=MAX_DEPTH)
    )


def _value(node: ast.expr, depth: int) -> object:
    value: object
    match node:
        case _ if depth > MAX_DEPTH:  # brackets in texts made it look flatter
            raise _too_deep()
        case ast.Constant(value=int() as number) if number.bit_length() > _MAX_BITS:
            value = "{{value}}"
        case ast.Constant(value=str() | int() | float() | bool() | None):
            value = node.value
        case ast.Dict():
            value = _entries(node, depth)
        case ast.List() | ast.Tuple():
            value = [_value(part, depth + 1) for part in node.elts]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int()) as operand):
            amount = _value(operand, depth + 1)
            value = -amount if isinstance(amount, int) else amount
        case ast.JoinedStr():
            value = "".join(str(_value(part, depth + 1)) for part in node.values)
        case ast.FormattedValue():
            value = _value(node.value, depth + 1)
        case _:
            value = f"{{{{{_name_of(node)}}}}}"
    return value


def _entries(node: ast.Dict, depth: int) -> dict[str, object]:
    """Return the entries of a dictionary; those of another one, `**more`, are not."""
    return {
        str(_value(key, depth + 1)): _value(part, depth + 1)
        for key, part in zip(node.keys, node.values, strict=True)
        if key is not None
    }


def _name_of(node: ast.expr) -> str:
    """Return the name of a value that is entered, such as token of secrets["token"]."""
    match node:
        case ast.Name():
            return node.id[:80]
        case ast.Attribute():
            return node.attr[:80]
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            return _NAME.sub("_", name)[:80] or "value"
        # The argument of another call may be the secret itself.
        case ast.Call(
            func=ast.Attribute(attr="get" | "getenv") | ast.Name(id="getenv"),
            args=[ast.Constant(value=str() as name), *_],
        ):
            return _NAME.sub("_", name)[:80] or "value"
    return "value"
