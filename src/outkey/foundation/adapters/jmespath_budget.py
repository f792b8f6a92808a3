"""A JMESPath interpreter that stops an expression which takes too much time or memory.

An expression of a hundred characters can double a text or a list at each step. So
everything that takes time or memory is paid from a budget before it is done: visiting a
node, copying an element, reading or writing a few characters. Each search may take
10,000 steps, which are some milliseconds; on a larger document, ten steps for each of
its values and for a few characters of its texts, at most two million.

Visiting a node takes a hundred times as long as copying a few characters. So visits are
counted by themselves too, and texts pay for none: a document of one long text has no
more than the first 10,000.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from jmespath import ast
from jmespath.functions import Functions
from jmespath.visitor import Options, TreeInterpreter

_LEAST_STEPS = 10_000
_STEPS_PER_VALUE = 10
_MAX_VALUES = 200_000  # of a document; more are not counted
_CHARACTERS_PER_STEP = 4
_DECIMAL_STEPS = 20  # to write one as text
_COPYING = 8  # for each entry of an object or piece of a text that is copied
# What a node costs besides the visits of its children,
# by the memory that its result takes.
_COSTS = {"multi_select_dict": 8, "multi_select_list": 3}
# Functions that read no member of their arguments,
# or pay for each member by a visit.
_CHEAP = frozenset({"length", "not_null", "to_array", "type"})
_COMPARING = frozenset({"max", "min", "sort"})
# Nodes that never repeat a value, so that a result is no larger than the document.
_UNREPEATING = frozenset(
    {
        "and_expression",
        "comparator",
        "current",
        "field",
        "filter_projection",
        "flatten",
        "identity",
        "index",
        "index_expression",
        "not_expression",
        "or_expression",
        "pipe",
        "projection",
        "slice",
        "subexpression",
        "value_projection",
    }
)


class OverBudgetError(Exception):
    """An expression takes more steps than its document pays for."""


class Budget:
    """The steps that one search may take."""

    def __init__(self, document: object) -> None:
        self._document = document
        self._limit = _LEAST_STEPS
        self._visit_limit = _LEAST_STEPS
        self._spent = 0
        self._visits = 0
        self._is_extended = False

    def spend(self, steps: int) -> None:
        """Pay for what is done next, or raise OverBudgetError."""
        self._spent += steps
        if self._spent > self._limit:
            self._refuse_over(self._spent)

    def visit(self, steps: int) -> None:
        """Pay for visiting a node."""
        self._visits += steps
        if self._visits > self._visit_limit:
            self._extend()
            if self._visits > self._visit_limit:
                raise OverBudgetError
        self.spend(steps)

    def spend_on_all_of(self, value: object, *, times: int = 1) -> None:
        """Pay for reading a value with all its members, `times` over."""
        self.spend(times * self._weight(value))

    def refuse_larger(self, result: object) -> None:
        """Refuse a result that is too large for the code that reads it next."""
        self._refuse_over(self._weight(result))

    def _weight(self, value: object) -> int:
        weight, _ = _measure(value, self._limit)
        if weight <= self._limit or self._is_extended:
            return weight
        self._extend()
        return _measure(value, self._limit)[0]

    def _refuse_over(self, steps: int) -> None:
        if steps > self._limit:
            self._extend()
        if steps > self._limit:
            raise OverBudgetError

    def _extend(self) -> None:
        """Raise the limits by the size of the document, once.

        The document is measured only for a search that needs it.
        """
        if not self._is_extended:
            self._is_extended = True
            weight, values = _measure(self._document, _MAX_VALUES)
            self._limit += _STEPS_PER_VALUE * weight
            self._visit_limit += _STEPS_PER_VALUE * values


class BudgetedInterpreter(TreeInterpreter):  # type: ignore[misc]  # the library has no types
    """Evaluates one expression on one document, within the budget of its functions."""

    def __init__(self, functions: "BudgetedFunctions") -> None:
        super().__init__(Options(custom_functions=functions))
        self._budget = functions.budget

    def search(
        self, tree: Mapping[str, Any], document: object, *, repeats: bool
    ) -> object:
        """Return the result of an expression; `repeats`: it may repeat values."""
        result = self.visit(tree, document)
        if repeats:
            # The next reader reads a value once for each of its places.
            self._budget.refuse_larger(result)
        return result

    def visit(self, node: Mapping[str, Any], *args: object, **kwargs: object) -> object:
        """Evaluate one node."""
        self._budget.visit(_COSTS.get(node["type"], 1))
        return super().visit(node, *args, **kwargs)

    def visit_comparator(self, node: Mapping[str, Any], value: object) -> object:
        """Compare two values."""
        left, right = [self.visit(child, value) for child in node["children"]]
        if isinstance(left, str) and isinstance(right, str):
            self._budget.spend(min(len(left), len(right)) // _CHARACTERS_PER_STEP)
        elif isinstance(left, dict | list) and type(left) is type(right):
            self._budget.spend_on_all_of(left)
        children = [ast.literal(left), ast.literal(right)]
        return super().visit_comparator({**node, "children": children}, value)

    def visit_flatten(self, node: Mapping[str, Any], value: object) -> object:
        """Join the lists of a list into one."""
        base = self.visit(node["children"][0], value)
        if isinstance(base, list):
            self._budget.spend(
                sum(len(part) if isinstance(part, list) else 1 for part in base)
            )
        return super().visit_flatten({**node, "children": [ast.literal(base)]}, value)

    def visit_slice(self, node: Mapping[str, Any], value: object) -> object:
        """Copy a part of a list."""
        if isinstance(value, list):
            self._budget.spend(len(value))
        return super().visit_slice(node, value)


class BudgetedFunctions(Functions):  # type: ignore[misc]  # the library has no types
    """The functions of JMESPath, each paid for before it is called."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    def call_function(self, name: str, arguments: Sequence[object]) -> object:
        """Pay for a function by its arguments, and call it."""
        if name == "to_string":
            for argument in arguments:
                self.budget.spend_on_all_of(argument, times=_COPYING)
        elif name == "contains" and _has_members(arguments[-1:]):
            for argument in arguments:
                self.budget.spend_on_all_of(argument)
        elif name not in _CHEAP:
            for argument in arguments:
                self._spend_on(name, argument, arguments)
        return super().call_function(name, arguments)

    def _spend_on(
        self, name: str, argument: object, arguments: Sequence[object]
    ) -> None:
        """Pay for reading the members of an argument, but not their members."""
        if isinstance(argument, str):
            self.budget.spend(len(argument) // _CHARACTERS_PER_STEP)
        if not isinstance(argument, dict | list):
            return
        self.budget.spend(len(argument) * (_COPYING if name == "merge" else 1))
        characters = sum(len(part) for part in argument if isinstance(part, str))
        if name in _COMPARING:
            characters *= len(argument).bit_length()
        if name in {"contains", "join"}:
            # With each member, the other text is read or written.
            other = sum(len(text) for text in arguments if isinstance(text, str))
            characters += len(argument) * other
        self.budget.spend(characters // _CHARACTERS_PER_STEP)

    def _create_key_func(self, *arguments: object) -> Any:  # noqa: ANN401 - as in the library
        key_of = super()._create_key_func(*arguments)

        def pay_for_key(element: object) -> object:
            key = key_of(element)
            if isinstance(key, str):  # it is compared with other keys
                self.budget.spend(len(key))
            return key

        return pay_for_key


def may_repeat(tree: Mapping[str, Any]) -> bool:
    """Whether an expression may return a value more often than its document has it."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        is_plain = node["type"] == "literal" and not _has_members([node["value"]])
        if node["type"] not in _UNREPEATING and not is_plain:
            return True
        waiting += [child for child in node["children"] if isinstance(child, dict)]
    return False


def _has_members(values: Sequence[object]) -> bool:
    return any(isinstance(value, dict | list) and bool(value) for value in values)


def _measure(value: object, most: int) -> tuple[int, int]:
    """Return the steps for a value with all its members, and how many these are.

    Both are counted up to that many steps.
    """
    weight = 0
    count = 0
    waiting = [value]
    while waiting and weight <= most:
        part = waiting.pop()
        weight += 1
        count += 1
        if isinstance(part, str):
            weight += len(part) // _CHARACTERS_PER_STEP
        elif isinstance(part, int):
            weight += part.bit_length() // _CHARACTERS_PER_STEP
        elif isinstance(part, Decimal):
            weight += _DECIMAL_STEPS
        elif isinstance(part, list | dict):
            weight += len(part)
            if weight <= most:
                waiting += part
            if isinstance(part, dict) and weight <= most:
                waiting += part.values()
    return min(weight, most + 1), count
