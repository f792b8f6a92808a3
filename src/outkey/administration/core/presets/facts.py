"""Presets as programs read them, in JSON."""

from outkey.administration.core.presets.presets import Preset, Variable
from outkey.foundation.core.endings import ending_facts


def preset_facts(preset: Preset) -> dict[str, object]:
    """Return a preset as a list shows it."""
    return {
        "name": preset.name,
        "title": preset.title,
        "methods": [*preset.methods],
        "checked": str(preset.checked),
        **ending_facts(preset.ending),
    }


def whole_facts(preset: Preset) -> dict[str, object]:
    """Return all of a preset."""
    return preset_facts(preset) | {
        "category": preset.category,
        "documentation": preset.documentation,
        "corrected": str(preset.corrected),
        "sure": preset.sure,
        "facts": {
            evidence.fact: {
                "known": evidence.kind,
                "sources": [source.line for source in evidence.sources],
            }
            for evidence in preset.evidence
        },
        "rotation": preset.rotation.facts(),
        "notes": preset.notes,
        "sources": [source.line for source in preset.sources],
        "methods": {
            method.name: {
                "title": method.title,
                **ending_facts(method.ending),
                "variables": {
                    variable.name: _variable_facts(variable)
                    for variable in preset.variables_of(method)
                },
                "secrets": dict(method.secrets),
                "configuration": method.table,
            }
            for method in preset.methods.values()
        },
    }


def _variable_facts(variable: Variable) -> dict[str, object]:
    """Return a variable of a preset."""
    return {
        "label": variable.label,
        "help": variable.help,
        "example": variable.example,
        "default": variable.default,
    }
