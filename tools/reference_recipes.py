"""The recipes page: every preset with its settings, as TOML and in words."""

import re
from collections.abc import Iterator
from dataclasses import replace

from outkey.administration.adapters.preset_files import PresetFiles
from outkey.administration.core.document.export import render
from outkey.administration.core.presets.presets import Preset, PresetMethod
from outkey.administration.core.presets.sources import FACTS, Source
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.configuration.secret_state import successor

INTRODUCTION = """# Recipes

Settings for well-known APIs. Each recipe is a preset: create a configuration from it
with `outkey new NAME --preset PRESET`, or with New on the pages, and enter its secrets.
This page is written from the presets, so it shows what they do.

Providers change their APIs. Each recipe states when it was compared with its sources,
and for each fact how good these are: the provider's own **documentation**, a public
**catalogue** that an integration product maintains, or **reported** by third parties
only. The word below a recipe is that of its least known fact. If the provider's
documentation differs, follow the documentation.

The catalogue is `providers.yaml` of the npm package `@nangohq/providers`, version
0.71.10: a program compares each such fact with the entry that is named.

In the examples, secrets are references such as `env:NAME`; on the pages, enter the
secret itself. For APIs that require signatures, and for those that do not work, see
[Signatures, and what does not work](other-apis.md).
"""


def recipes_page() -> Iterator[str]:
    """Yield the parts of the page."""
    presets = PresetFiles().all()
    yield INTRODUCTION
    yield "## Overview\n"
    yield "| API | category | ways to authenticate | preset |"
    yield "|---|---|---|---|"
    for preset in presets:
        titles = "; ".join(method.label for method in preset.methods.values())
        link = f"[{preset.title}](#{anchor(preset.title)})"
        yield f"| {link} | {preset.category} | {titles} | `{preset.name}` |"
    for preset in presets:
        yield from section(preset)


def anchor(title: str) -> str:
    """Return the anchor that a heading gets."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def section(preset: Preset) -> Iterator[str]:
    """Yield what a preset says."""
    yield f"\n## {preset.title}\n"
    if preset.ending:
        yield f"This {preset.ending.words}.\n"
    if preset.notes:
        yield f"{preset.notes}\n"
    for method in preset.methods.values():
        yield from method_part(preset, method)
    yield f"Documentation: <{preset.documentation}>\n"
    yield f"Replacing a secret: {preset.rotation.words}\n"
    yield f"Compared on {preset.checked}: {preset.sure}.\n"
    yield "| source | known from | facts |"
    yield "|---|---|---|"
    for source in preset.sources:
        facts = ", ".join(FACTS[fact] for fact in source.facts)
        yield f"| {in_cell(source)} | {source.kind} | {facts} |"


def in_cell(source: Source) -> str:
    """Return a source as it stands in a table, a page as a link."""
    text = source.says.replace("|", "\\|")
    if source.at:
        url = source.at.replace("(", "%28").replace(")", "%29")
        return f"[{text}]({url})"
    return f"{text} (entry `{source.entry}`)" if source.entry else text


def method_part(preset: Preset, method: PresetMethod) -> Iterator[str]:
    """Yield one way to authenticate."""
    if len(preset.methods) > 1:
        yield f"### {preset.title}: {method.title}\n"
    if method.ending:
        yield f"This {method.ending.words}.\n"
    variables = preset.variables_of(method)
    for variable in variables:
        yield f"- `{variable.name}`, {variable.label}: {variable.help}"
    for field, place in method.secrets.items():
        yield f"- secret `{field}`: {place}"
    yield ""
    yield "```toml"
    yield example(preset, method).rstrip()
    yield "```\n"


def example(preset: Preset, method: PresetMethod) -> str:
    """Return the configuration of a method with sample values, as TOML."""
    values = {
        variable.name: variable.example for variable in preset.variables_of(method)
    }
    is_usual = method is preset.method()
    name = preset.name if is_usual else f"{preset.name}-{method.name}"
    made = preset.draft(name, method, values).configuration()
    return render([with_references(made, preset, method)], [])


def with_references(
    made: Configuration, preset: Preset, method: PresetMethod
) -> Configuration:
    """Return a configuration whose secrets are references to variables."""
    states = {}
    for field in method.secrets:
        reference = parse_reference(f"env:{variable_name(preset, field)}", field=field)
        states[field] = successor(None, made.binding_of(field), reference)
    return replace(made, secrets=states)


def variable_name(preset: Preset, field: str) -> str:
    """Return the name of an environment variable for a secret."""
    name = field.rpartition(":")[2]
    return re.sub(r"[^A-Z0-9]+", "_", f"{preset.name}_{name}".upper())
