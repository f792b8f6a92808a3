"""Finds values by JMESPath, the path language of the AWS and Azure tools."""

import math
import re
from collections.abc import Callable
from decimal import Decimal

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import signature

from outkey.foundation.adapters.jmespath_budget import (
    Budget,
    BudgetedFunctions,
    BudgetedInterpreter,
    OverBudgetError,
    may_repeat,
)
from outkey.foundation.core.errors import ConfigError, SyncFailed
from outkey.foundation.core.text import Text

_LONGEST = 2000
_MAX_DIGITS = 40  # converting 1e999990 to an integer takes most of a minute
_NAMES = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)

_FAILURES = (
    JMESPathError,
    TypeError,
    ValueError,
    ArithmeticError,
    # A few hundred characters can exhaust the stack or the memory.
    RecursionError,
    MemoryError,
)


class _WithDecimals(BudgetedFunctions):
    """The functions of JMESPath, for which a decimal is a number like others."""

    def _get_allowed_pytypes(
        self, types: list[str]
    ) -> tuple[list[str], list[tuple[str, ...]]]:
        allowed, members = super()._get_allowed_pytypes(types)
        with_decimals = [
            (*names, "Decimal") if "float" in names else names for names in members
        ]
        return [*allowed, *(["Decimal"] if "float" in allowed else [])], with_decimals

    def _convert_to_jmespath_type(self, name: str) -> str:
        name_in_jmespath: str = super()._convert_to_jmespath_type(
            "float" if name == "Decimal" else name
        )
        return name_in_jmespath

    @signature({"types": ["number"]})  # type: ignore[untyped-decorator]  # the same
    def _func_ceil(self, number: Decimal | float) -> int:
        return math.ceil(_refuse_huge(number))

    @signature({"types": ["number"]})  # type: ignore[untyped-decorator]  # the same
    def _func_floor(self, number: Decimal | float) -> int:
        return math.floor(_refuse_huge(number))

    @signature({"types": []})  # type: ignore[untyped-decorator]  # the same
    def _func_to_number(self, value: object) -> object:
        return value if isinstance(value, Decimal) else super()._func_to_number(value)


def _refuse_huge(number: Decimal | float) -> Decimal | float:
    """Return a number, unless arithmetic with all its digits would take too long."""
    if Decimal(number).adjusted() > _MAX_DIGITS:
        raise ValueError
    return number


class JmespathCompiler:
    """Compiles expressions; one that fails on a value is a SyncFailed."""

    def compile(self, expression: str, *, field: str) -> Callable[[object], object]:
        """Return a search function, or raise a ConfigError of this field."""
        try:
            # Parsing is recursive: a deeply nested expression exhausts the stack.
            compiled = jmespath.compile(expression[:_LONGEST])
        except (JMESPathError, ValueError, RecursionError):
            compiled = None
        if compiled is None or len(expression) > _LONGEST:
            raise ConfigError(
                Text("this is not a JMESPath expression"),
                hint=Text("Write a path such as items, data.records[] or meta.next."),
                field=field,
            )
        if self.is_path_of_names(expression):
            return _by_names(expression.split("."))

        tree = compiled.parsed
        repeats = may_repeat(tree)

        def find(value: object) -> object:
            interpreter = BudgetedInterpreter(_WithDecimals(Budget(value)))
            try:
                return interpreter.search(tree, value, repeats=repeats)
            except OverBudgetError:
                raise SyncFailed(
                    Text(
                        "an expression of the line takes too much time or memory for"
                        " this response"
                    ),
                    hint=(
                        Text(
                            "Simplify the expression: it repeats values, or builds a"
                            " long text."
                        )
                    ),
                    reason="expression",
                ) from None
            except _FAILURES:
                # A function got an argument of the wrong type;
                # the text of its error would repeat the value.
                raise SyncFailed(
                    Text("an expression of the line cannot be applied to the response"),
                    reason="expression",
                ) from None

        return find

    def is_path_of_names(self, expression: str) -> bool:
        """Whether an expression only names members: it is quick, and never fails."""
        return _NAMES.fullmatch(expression) is not None


def _by_names(names: list[str]) -> Callable[[object], object]:
    """Return a search function for a path of names, the common case.

    It needs no interpreter.
    """
    first, *more = names

    def find_one(value: object) -> object:
        return value.get(first) if isinstance(value, dict) else None

    def find(value: object) -> object:
        for name in names:
            if not isinstance(value, dict):
                return None
            value = value.get(name)
        return value

    return find if more else find_one
