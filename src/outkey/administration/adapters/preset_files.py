"""The presets that are part of the package, one TOML file each."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import known_names

if TYPE_CHECKING:
    from outkey.administration.core.presets.presets import Preset


class PresetFiles:
    """Reads presets when they are asked for, each once."""

    def names(self) -> list[str]:
        """Return the names of all presets, sorted."""
        return list(_names())

    def all(self) -> list[Preset]:
        """Return every preset, by title."""
        presets = (self.get(name) for name in _names())
        return sorted(presets, key=lambda preset: preset.title.lower())

    def get(self, name: str) -> Preset:
        """Return a preset by its name, or raise ConfigError."""
        from outkey.administration.core.presets.presets import similar_presets  # noqa: PLC0415

        if name not in _names():
            near = similar_presets(self.all(), name)
            hint = known_names(_similar(name))
            if near:
                hint = Text("Did you mean {name}?", name=near[0].name)
            raise ConfigError(
                Text("there is no preset with that name"), field="preset", hint=hint
            )
        return _read(name)


@cache
def _names() -> tuple[str, ...]:
    folder = files("outkey") / "presets"
    names = (file.name for file in folder.iterdir())
    return tuple(
        sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))
    )


@cache
def _read(name: str) -> Preset:
    from outkey.administration.core.presets.presets import read_preset  # noqa: PLC0415

    file = files("outkey") / "presets" / f"{name}.toml"
    return read_preset(name, file.read_text("utf-8"))


def _similar(name: str) -> list[str]:
    """Return the presets whose names begin alike first."""
    return sorted(_names(), key=lambda known: (known[:2] != name[:2].lower(), known))
