"""Prints, as JSON, what each public name is and which parts of it lack documentation.

In a process of its own, since some public modules need Django.
"""

import dataclasses
import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))

importlib.import_module("reference_django").configure_django()
MODULES = importlib.import_module("reference_python").MODULES


def members_of(value: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties that a class of outkey defines."""
    for name, member in vars(value).items():
        is_callable = isinstance(
            member, staticmethod | classmethod | property
        ) or inspect.isfunction(member)
        if is_callable and not name.startswith("_"):
            yield (
                name,
                getattr(value, name) if not isinstance(member, property) else member,
            )


def fields_of(value: type) -> list[str]:
    """Return the names of the fields that a class declares itself."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    elif hasattr(value, "_fields"):
        names = list(value._fields)
    elif hasattr(value, "__total__"):
        names = list(value.__annotations__)
    else:
        return []
    own = inspect.get_annotations(value)
    return [name for name in names if name in own and not name.startswith("_")]


def is_documented(value: object) -> bool:
    """Whether a text was written for it; dataclasses get one that nobody wrote."""
    text = inspect.getdoc(value) or ""
    return bool(text) and not text.startswith(f"{getattr(value, '__name__', '')}(")


def main() -> None:
    """Print the places of the reference, and what has no docstring."""
    places: list[str] = []
    undocumented: list[str] = []
    for module in MODULES:
        for name in module.public_names():
            value = getattr(importlib.import_module(module.module), name)
            path = f"{module.module}.{name}"
            places.append(path)
            if not is_documented(value):
                undocumented.append(path)
            if isinstance(value, type):
                places += [f"{path}.{field}" for field in fields_of(value)]
                for member, content in members_of(value):
                    places.append(f"{path}.{member}")
                    if not is_documented(content):
                        undocumented.append(f"{path}.{member}")
    print(json.dumps({"places": places, "undocumented": undocumented}))


main()
