"""Reading imports with the adapters of this package, for commands and pages."""

from collections.abc import Collection

from outkey.foundation.adapters.extras import extra
from outkey.importing.core.reading import Import, Tools
from outkey.importing.core.reading import read_import as read_texts


def read_import(
    *texts: str, source: str = "", name: str = "", taken: Collection[str] = ()
) -> Import:
    """Read a pasted text or the texts of several files; saves nothing.

    `Application.save_import` saves it. Without a `source` the format is recognized; a
    name that is `taken` gets a number. Raises ConfigError, which repeats no value.
    """
    tools = Tools(_parse_yaml)
    without_marks = [text.removeprefix("\ufeff") for text in texts]
    return read_texts(without_marks, tools, source=source, name=name, taken=taken)


def _parse_yaml(text: str) -> object:
    """Parse YAML; its library is loaded for this only."""
    with extra("server"):
        from outkey.importing.adapters.yaml_events import parse_yaml
    return parse_yaml(text)
