"""Expressions of Jinja in manifests: usual ones are recognized, none is evaluated."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from outkey.sync.core.suggest.names import quoted_name

MAX_TEXT = 20_000
_EXPRESSION = re.compile(r"\{\{((?:[^{}]|\{\s{0,3}\}){1,500})\}\}")
_QUOTED = r"""(?:'(?P<a>[^'\\]{0,200})'|"(?P<b>[^"\\]{0,200})")"""
_STEP = re.compile(
    r"\s*(?:\.get\(\s*" + _QUOTED + r"\s*(?:,\s*(?P<rest>[^()]{0,200}))?\)"
    r"|\[\s*(?:(?P<number>-?\d{1,4})|'(?P<c>[^'\\]{0,200})'|\"(?P<d>[^\"\\]{0,200})\")"
    r"\s*\]"
    r"|\.(?P<name>[A-Za-z_$@][\w$@-]{0,200}))"
)
_ROOT = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]{0,80})")
_LITERAL = re.compile(r"""\s*(?:'([^'\\]*)'|"([^"\\]*)"|(-?\d+(?:\.\d+)?))\s*""")
_DEFAULT = re.compile(r"\s*\|\s*default\(\s*(.{1,200}?)\s*\)\s*", re.DOTALL)
_MAX_STEPS = 20

Step = str | int


@dataclass(frozen=True, slots=True)
class Expression:
    """A name with the steps into it, such as `config['start_date']`."""

    root: str
    steps: tuple[Step, ...] = ()
    default: str = ""

    @property
    def name(self) -> str:
        """The names of the steps in one, such as `credentials.token`."""
        return ".".join(map(str, self.steps))

    @property
    def path(self) -> str:
        """The steps as JMESPath; "@" without any."""
        text = ""
        for step in self.steps:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += f".{quoted_name(step)}" if text else quoted_name(step)
        return text or "@"


ValueOf = Callable[[Expression], str | None]


def parse_expression(text: str) -> Expression | None:
    """Return the expression of a text that is nothing but one; None for others."""
    whole = _EXPRESSION.fullmatch(text.strip()[:MAX_TEXT])
    return _parse(whole[1]) if whole else None


def fill(text: str, value_of: ValueOf) -> str | None:
    """Return a text with the values of its expressions; None if one has no value."""
    if "{%" in text or len(text) > MAX_TEXT:
        return None
    is_whole = True

    def replacement(match: re.Match[str]) -> str:
        nonlocal is_whole
        literal = _literal(match[1].strip(" -"))
        if literal is not None:
            return literal
        expression = _parse(match[1])
        value = None if expression is None else value_of(expression)
        is_whole &= value is not None
        return value or ""

    filled = _EXPRESSION.sub(replacement, text)
    return filled if is_whole else None


def _parse(text: str) -> Expression | None:
    """Return a name with its steps, and a default that is a literal."""
    text = text.strip().strip("-").strip()
    root = _ROOT.match(text)
    if root is None:
        return None
    end = root.end()
    steps: list[Step] = []
    default = ""
    while len(steps) < _MAX_STEPS and (match := _STEP.match(text, end)):
        end = match.end()
        names = (match["a"], match["b"], match["c"], match["d"], match["name"])
        name = next((name for name in names if name is not None), None)
        steps.append(int(match["number"]) if name is None else name)
        default = _literal(match["rest"] or "") or ""
    rest = text[end:].strip()
    if rest.startswith("or "):
        default = _literal(rest[3:]) or default
        rest = "" if _literal(rest[3:]) is not None else rest
    elif filtered := _DEFAULT.fullmatch(rest):
        default = _literal(filtered[1]) or default
        rest = ""
    return None if rest else Expression(root[1], tuple(steps), default)


def _literal(text: str) -> str | None:
    """Return the text of a literal, None for anything else."""
    match = _LITERAL.fullmatch(text)
    if match is None:
        return None
    return next(part for part in match.groups() if part is not None)


def known(values: Mapping[str, str], other: ValueOf) -> ValueOf:
    """Return a function with the values of parameters, and `other` for the rest."""

    def value_of(expression: Expression) -> str | None:
        if expression.root in {"parameters", "options"}:
            return values.get(expression.name)
        return other(expression)

    return value_of
