"""Presets: what is known about a provider, as data, and the configuration it makes.

A preset is one TOML file of `outkey/presets`. It has one or more methods, each with the
table of a configuration; `{name}` in a text of that table is replaced by a variable.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from typing import Any

from outkey.administration.core.presets.rotation import Rotation, read_rotation
from outkey.administration.core.presets.sources import (
    SURENESS,
    Evidence,
    Source,
    evidence_of,
    one_of,
    read_source,
    stated_facts,
    weakest_kind,
)
from outkey.foundation.core.endings import (
    Ending,
    read_ending,
    soonest,
)
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import CONTROL, refuse_unknown_keys
from outkey.foundation.core.text import Text, join_texts
from outkey.foundation.core.toml.parsing import parse_toml
from outkey.sending.core.configuration.configuration import Configuration, known_names
from outkey.sending.core.configuration.drafts import ConfigurationDraft, read_draft
from outkey.sending.core.configuration.methods import method_of

MAX_PRESET = 64 * 1024
MAX_VARIABLE = 500
CATEGORIES = frozenset(
    {
        "AI",
        "Accounting",
        "CRM",
        "Data",
        "Developers",
        "Documents",
        "E-mail and messages",
        "ERP",
        "HR",
        "Identity",
        "Marketing",
        "Other",
        "Payments",
        "Projects",
        "Shipping",
        "Shop",
        "Storage",
        "Support",
    }
)
_KEYS = [
    "title",
    "category",
    "documentation",
    "checked",
    "corrected",
    "ends",
    "successor",
    "rotation",
    "notes",
    "sources",
    "variables",
    "methods",
]
_VARIABLE_KEYS = ["label", "help", "pattern", "example", "default"]
_METHOD_KEYS = ["title", "ends", "successor", "configuration", "secrets"]
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Variable:
    """A part of a preset that every user enters for themselves."""

    name: str
    label: str
    help: str
    pattern: str
    example: str
    default: str | None

    def check(self, value: str) -> str:
        """Return a value that fits, else raise."""
        text = value.strip()
        is_text = len(text) <= MAX_VARIABLE and not CONTROL.search(text)
        if is_text and re.fullmatch(self.pattern, text):
            return text
        problem = Text("{label} must not be empty", label=self.label)
        if text:
            problem = Text("{label} has another form than expected", label=self.label)
        raise ConfigError(
            problem,
            field=self.name,
            hint=Text(
                "{help} For example: {example}", help=self.help, example=self.example
            ),
        )


@dataclass(frozen=True, slots=True)
class PresetMethod:
    """One way to authenticate at a provider."""

    name: str
    title: str
    table: Mapping[str, Any]  # of a configuration, with placeholders
    secrets: Mapping[str, str]  # those to enter, and where a user finds them
    ending: Ending | None

    @property
    def label(self) -> Text:
        """The title, with the day on which the method ends."""
        if self.ending is None:
            return Text("{title}", title=self.title)
        if self.ending.day is None:
            return Text("{title} (deprecated)", title=self.title)
        return Text("{title} (ends on {day})", title=self.title, day=self.ending.day)


@dataclass(frozen=True, slots=True)
class Preset:
    """One provider."""

    name: str
    title: str
    category: str
    documentation: str
    checked: date  # when the facts were last compared with their sources
    corrected: date  # when the settings last changed
    ending: Ending | None
    rotation: Rotation
    notes: str
    sources: tuple[Source, ...]
    variables: Mapping[str, Variable]
    methods: Mapping[str, PresetMethod]  # the usual one first

    @property
    def evidence(self) -> list[Evidence]:
        """How well each of its facts is known, and where from."""
        return evidence_of(self.sources)

    @property
    def stated_facts(self) -> list[str]:
        """The facts on which its requests depend."""
        return stated_facts(method.table for method in self.methods.values())

    @property
    def sure(self) -> str:
        """How well that fact is known of which the least is known."""
        return weakest_kind(self.evidence, self.stated_facts)

    @property
    def sure_words(self) -> Text:
        """How well its facts are known, as a user reads it."""
        return SURENESS[self.sure]

    def matches(self, text: str) -> bool:
        """Whether name, title, category or methods have every word of a search."""
        return all(word in self.search_words for word in text.lower().split())

    @property
    def search_words(self) -> str:
        """The text that is searched, in lower case."""
        parts = [self.name, self.title, self.category]
        for method in self.methods.values():
            parts += [method.title, *_kinds_of(method.table)]
        return " ".join(parts).lower()

    def method(self, name: str = "") -> PresetMethod:
        """Return a method by its name, the usual one without a name."""
        if not name:
            return next(iter(self.methods.values()))
        if name not in self.methods:
            raise ConfigError(
                Text("the preset {preset} has no such method", preset=self.name),
                field="method",
                hint=known_names([*self.methods]),
            )
        return self.methods[name]

    def ending_of(self, configuration: Configuration) -> Ending | None:
        """Return the announced ending that concerns a configuration, with its day.

        A configuration does not store its method: one of the same kind counts.
        """
        kind = method_of(configuration).name
        of_methods = [
            method.ending
            for method in self.methods.values()
            if method.ending and method_of(self._example(method)).name == kind
        ]
        return soonest([self.ending, *of_methods])

    def places_of(self, configuration: Configuration) -> Mapping[str, str]:
        """Return where a user finds the secrets of a configuration, by their names.

        A configuration does not store its method: the first of the same kind counts.
        """
        kind = method_of(configuration).name
        for method in self.methods.values():
            if method_of(self._example(method)).name == kind:
                return method.secrets
        return {}

    def _example(self, method: PresetMethod) -> Configuration:
        """Return the configuration of a method with the examples of its variables."""
        values = {
            variable.name: variable.example for variable in self.variables_of(method)
        }
        return self.draft(self.name, method, values).configuration()

    def variables_of(self, method: PresetMethod) -> list[Variable]:
        """Return the variables that a method uses, in the order of the preset."""
        used = {name for text in texts_in(method.table) for name in names_in(text)}
        return [self.variables[name] for name in self.variables if name in used]

    def problems(
        self, method: PresetMethod, values: Mapping[str, str]
    ) -> dict[str, ConfigError]:
        """Return the problems of the variables, by their names."""
        problems: dict[str, ConfigError] = {}
        for variable in self.variables_of(method):
            try:
                variable.check(values.get(variable.name, variable.default or ""))
            except ConfigError as error:
                problems[variable.name] = error
        return problems

    def draft(
        self, name: str, method: PresetMethod, values: Mapping[str, str]
    ) -> ConfigurationDraft:
        """Return the configuration that this preset makes of some variables."""
        variables = {variable.name: variable for variable in self.variables_of(method)}
        for variable_name in values:
            if variable_name not in variables:
                raise ConfigError(
                    Text("the preset {preset} has no such variable", preset=self.name),
                    field=variable_name,
                    hint=known_names([*variables]),
                )
        problems = self.problems(method, values)
        if problems:
            raise _joined_errors([*problems.values()])
        texts = {
            name: variable.check(values.get(name, variable.default or ""))
            for name, variable in variables.items()
        }
        table = {
            **fill_tree(method.table, texts),
            "preset": self.name,
            "preset_day": self.corrected,
        }
        return read_draft(name, table)


def _joined_errors(errors: Sequence[ConfigError]) -> ConfigError:
    """Return several errors as one, at the field of the first."""
    return ConfigError(
        join_texts([error.message for error in errors], "; "),
        field=errors[0].field,
        hint=join_texts([error.hint for error in errors]),
    )


def _kinds_of(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words by which a user knows how a method authenticates."""
    kind = str(table.get("authentication_type", "none"))
    yield kind
    yield str(table.get("token_source", ""))
    rows = [*table.get("headers", ()), *table.get("query", ())]
    if kind == "none" and rows:
        yield "api key"


def similar_presets(presets: Iterable[Preset], text: str) -> list[Preset]:
    """Return the presets whose names or titles are nearly a text."""
    by_word = {
        word.lower(): preset
        for preset in presets
        for word in (preset.name, preset.title)
    }
    words = get_close_matches(text.lower().strip(), by_word, n=3)
    return list({by_word[word].name: by_word[word] for word in words}.values())


def read_preset(name: str, text: str) -> Preset:
    """Read the file of a preset; a mistake in it is a ConfigError."""
    tree: Mapping[str, Any] = parse_toml(text, longest=MAX_PRESET)
    refuse_unknown_keys(tree, _KEYS)
    try:
        checked = tree["checked"]
        variables = {
            key: _read_variable(key, table)
            for key, table in tree.get("variables", {}).items()
        }
        preset = Preset(
            name=name,
            title=str(tree["title"]),
            category=one_of(tree["category"], CATEGORIES, "category"),
            documentation=str(tree["documentation"]),
            checked=checked,
            corrected=tree.get("corrected", checked),
            ending=read_ending(tree),
            rotation=read_rotation(tree["rotation"]),
            notes=str(tree["notes"]),
            sources=tuple(read_source(table) for table in tree["sources"]),
            variables=variables,
            methods={
                key: _read_method(key, table) for key, table in tree["methods"].items()
            },
        )
    except KeyError as error:
        key = str(error.args[0])
        raise ConfigError(Text("the key is missing"), field=key) from None
    _refuse_undeclared(preset)
    return preset


def _read_variable(name: str, table: Mapping[str, str]) -> Variable:
    """Read the table of one variable."""
    refuse_unknown_keys(table, _VARIABLE_KEYS, f"variables.{name}.")
    return Variable(
        name=name,
        label=table["label"],
        help=table["help"],
        pattern=table["pattern"],
        example=table["example"],
        default=table.get("default"),
    )


def _read_method(name: str, table: Mapping[str, Any]) -> PresetMethod:
    """Read the table of one method."""
    refuse_unknown_keys(table, _METHOD_KEYS, f"methods.{name}.")
    return PresetMethod(
        name,
        table["title"],
        table["configuration"],
        table.get("secrets", {}),
        read_ending(table, f"methods.{name}."),
    )


def _refuse_undeclared(preset: Preset) -> None:
    """Refuse a variable that no method uses: a text would keep its placeholder."""
    used = {
        variable.name
        for method in preset.methods.values()
        for variable in preset.variables_of(method)
    }
    for name in preset.variables:
        if name not in used:
            raise ConfigError(
                Text("no method uses this variable"), field=f"variables.{name}"
            )


def names_in(text: str) -> list[str]:
    """Return the names of the placeholders in a text."""
    return _PLACEHOLDER.findall(text)


def texts_in(value: object) -> Iterator[str]:
    """Yield every text of a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


def fill_tree(value: Any, values: Mapping[str, str]) -> Any:  # noqa: ANN401 - a TOML tree
    """Return a table with the variables in place; other placeholders stay."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), value)
    if isinstance(value, Mapping):
        return {key: fill_tree(inner, values) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill_tree(inner, values) for inner in value]
    return value
