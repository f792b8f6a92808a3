"""Write docs/reference from the code: fields, errors, audit events, scenes.

`tests/docs` fails when a page is not what this would write.
"""

import inspect
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from outkey.core import errors
from outkey.core.audit import Change, Intent, Outcome, Refusal, Tag
from outkey.core.diagnosis import REMEDIES
from outkey.core.field_kinds import Field, Kind, Tab
from outkey.core.fields import FIELDS, described
from outkey.spar.scenes import index

_NOTHING = (None, "", (), {})
FOLDER = Path(__file__).parent.parent / "docs" / "reference"


def pages() -> dict[str, str]:
    """Return every page by its file name."""
    return {
        "fields.md": "\n".join(_fields()),
        "errors.md": "\n".join(_errors()),
        "audit.md": "\n".join(_audit()),
        "spar.md": "\n".join(_scenes()),
    }


def _fields() -> Iterator[str]:
    yield "# Fields of a configuration\n"
    yield "The TOML key is the path inside `[configuration.NAME]`; Name is that NAME."
    yield "A secret takes a reference, `env:NAME` or `file:/path`, never the secret itself.\n"
    for tab in Tab:
        yield f"## {tab}\n"
        yield "| Label | TOML key | Takes | Default | Applies when | What it is |"
        yield "|---|---|---|---|---|---|"
        yield from (_field_row(f) for f in FIELDS if f.tab is tab and f.path != "name")
        yield ""


def _field_row(field: Field) -> str:
    default = f"`{field.default}`" if field.default not in _NOTHING else ""
    if field.kind is Kind.FLAG:
        default = default.lower()
    applies = described(field.when) or "always"
    if field.required:
        default = "required"
    takes = ", ".join(f"`{key}` ({label})" for key, label in field.choices) or str(field.kind)
    if field.maximum:
        takes += f" from {field.minimum:g} to {field.maximum:,}"
    return f"| {field.label} | `{field.path}` | {takes} | {default} | {applies} | {field.help} |"


def _errors() -> Iterator[str]:
    yield "# Errors and causes\n"
    yield "Every error is an `outkey.errors.OutkeyError`"
    yield "with `code`, `message`, `hint`, `field` and `retryable`."
    yield "The branch says who can mend it.\n"
    for branch in errors.OutkeyError.__subclasses__():
        yield f"## {branch.__name__}\n"
        yield f"{inspect.getdoc(branch)}\n"
        yield "| Error | Code | Meaning | What to do | Worth another try |"
        yield "|---|---|---|---|---|"
        for error in _below(branch):
            retried = "yes" if error.retryable else "no"
            yield (
                f"| `{error.__name__}` | `{error.code}` | {inspect.getdoc(error)} "
                f"| {error.default_hint} | {retried} |"
            )
        yield ""
    yield "## Causes of an answer\n"
    yield "An answer of 400 and above has a cause and a remedy:"
    yield "`response.cause`, `response.remedy` and `response.raise_for_cause()`.\n"
    yield "| Cause | Remedy |"
    yield "|---|---|"
    yield from (f"| `{cause}` | {remedy} |" for cause, remedy in REMEDIES.items())
    yield ""


def _below(branch: type[errors.OutkeyError]) -> Iterator[type[errors.OutkeyError]]:
    for error in branch.__subclasses__():
        if error is not errors.BadAnswer:
            yield error
        yield from _below(error)


def _audit() -> Iterator[str]:
    yield "# What is recorded\n"
    yield "An intent is recorded before credentials leave, its outcome after."
    yield "Rows hold these facts and nothing else: no value, body, query string or error text.\n"
    for event in (Intent, Outcome, Refusal, Change):
        tag = next(f.default for f in fields(event) if f.name == "tag")
        title = f"`{tag}`" if isinstance(tag, Tag) else "Changes: `api:…` and `keys:…`"
        yield f"## {title}\n"
        yield f"{inspect.getdoc(event)}\n"
        yield from (f"- `{f.name}`" for f in fields(event))
        if event is Intent:
            yield "- `attempt`, the id that the outcome names again"
        yield ""


def _scenes() -> Iterator[str]:
    yield "# Scenes of the sparring provider\n"
    yield "Start it with `python -m outkey.spar`, or `make spar` in a checkout."
    yield "Its credentials are made up and public: user `sparring` with password `open sesame`,"
    yield "token `spar-token`, key `spar-key` in `X-API-Key`.\n"
    yield "| Path | What it does |"
    yield "|---|---|"
    yield from (f"| `{path}` | {purpose} |" for path, purpose in index().items())
    yield ""


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
