"""Write docs/reference and docs/reasons from the code.

`tests/docs` fails when a page is not what this would write; so does `--check`.
"""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

from reference_commands import commands_page
from reference_fields import field_rows
from reference_http import http_page
from reference_lines import lines_page
from reference_python import python_page
from reference_recipes import recipes_page
from reference_webhooks import webhooks_page
from rooms import rooms_page

from outkey.administration.core.findings.catalogue import FINDING_CHECKS
from outkey.administration.core.findings.posture import (
    ANY_NAME,
    CONFIGURATION_CHECKS,
    POSTURE_CHECKS,
    Area,
)
from outkey.foundation.core import errors
from outkey.foundation.core.fields.field_kinds import Tab
from outkey.sending.core.audit.events import Change, Intent, Outcome, Refusal, Tag
from outkey.sending.core.configuration.field_tables.login import STEP_FIELDS
from outkey.sending.core.configuration.fields import FIELDS
from outkey.sending.core.diagnosis.reasons import FIXES, REASONS, REMEDIES, Reason
from outkey.spar.scenes import index

FOLDER = Path(__file__).parent.parent / "docs" / "reference"


def pages() -> dict[str, str]:
    """Return every page by its file name."""
    return {
        "fields.md": "\n".join(_fields()),
        "lines.md": "\n".join(lines_page()),
        "webhooks.md": "\n".join(webhooks_page()),
        "commands.md": "\n".join(commands_page()),
        "http.md": "\n".join(http_page()),
        "python.md": "\n".join(python_page()),
        "findings.md": "\n".join(_findings()),
        "errors.md": "\n".join(_errors()),
        "audit.md": "\n".join(_audit()),
        "posture.md": "\n".join(_posture()),
        "spar.md": "\n".join(_scenes()),
        "rooms.md": "\n".join(rooms_page()),
        "../guide/recipes.md": "\n".join(recipes_page()) + "\n",
        **_reasons(),
    }


def _reasons() -> dict[str, str]:
    """Return a page for each reason of a diagnosis, and their index."""
    made = {
        f"../reasons/{one.id}.md": "\n".join(_reason(one)) for one in REASONS.values()
    }
    return made | {"../reasons/index.md": "\n".join(_reason_index())}


def _reason(reason: Reason) -> Iterator[str]:
    by_status = reason.cause is errors.Cause.UNEXPECTED
    yield f"# {reason.title}\n"
    yield (
        f"Reason `{reason.id}`, cause"
        f" {'by the status' if by_status else f'`{reason.cause}`'}.\n"
    )
    yield f"## How it is recognised\n\n{reason.signs}\n"
    yield f"## What to do\n\n{reason.remedy}\n"
    if reason.id in FIXES:
        label = FIXES[reason.id]
        yield f"## What outkey can change\n\n{label}, if the evidence allows it.\n"


def _reason_index() -> Iterator[str]:
    # Not in the menu, which every page has: there are too many.
    yield "---\norphan: true\n---\n"
    yield "# Reasons\n"
    yield "A failed test lists the likely reasons, the most likely first:"
    yield "each with its evidence, what to do, and what outkey can change itself."
    yield (
        "Any other response is checked in the same way, without the entered secrets.\n"
    )
    for cause in errors.Cause:
        rows = [one for one in REASONS.values() if one.cause is cause]
        if rows:
            yield f"- `{cause}`"
            yield from (f"  - [{one.title}]({one.id}.md) (`{one.id}`)" for one in rows)
    yield "\n```{toctree}\n:hidden:\n"
    yield from REASONS
    yield "```\n"


def _fields() -> Iterator[str]:
    yield "# Fields of a configuration\n"
    yield "The TOML key is the path inside `[configuration.NAME]`; Name is that NAME."
    yield (
        "A secret takes a reference, `env:NAME` or `file:/path`, never the secret"
        " itself.\n"
    )
    for tab in Tab:
        yield f"## {tab}\n"
        yield from field_rows(f for f in FIELDS if f.tab is tab and f.path != "name")
        yield ""
        if tab is Tab.LOGIN:
            yield "### Steps of a login\n"
            yield "The keys of each `[[configuration.NAME.login.steps]]`.\n"
            yield from field_rows(STEP_FIELDS, "key")
            yield ""


def _findings() -> Iterator[str]:
    yield "# Findings\n"
    yield "What a check of a configuration or a sync line reports, besides the"
    yield "[errors](errors.md) that would stop a request (`E-` and the error's code)."
    yield "The findings of `outkey doctor` are in [Posture](posture.md).\n"
    yield "| Id | Level | Meaning | What to do |"
    yield "|---|---|---|---|"
    for check in FINDING_CHECKS:
        if check not in POSTURE_CHECKS:
            message = readable(check.message)
            hint = readable(check.hint)
            yield f"| `{check.id}` | {check.level} | {message} | {hint} |"
    yield ""


def readable(template: str) -> str:
    """Return a template with … for its values."""
    parts = Formatter().parse(template)
    return "".join(text + ("" if name is None else "…") for text, name, *_ in parts)


def _errors() -> Iterator[str]:
    yield "# Errors and causes\n"
    yield "Every error is an `outkey.errors.OutkeyError`"
    yield "with `code`, `message`, `hint`, `field` and `retryable`."
    yield "Its base class shows where the problem is.\n"
    for branch in errors.OutkeyError.__subclasses__():
        yield f"## {branch.__name__}\n"
        yield f"{inspect.getdoc(branch)}\n"
        yield "| Error | Code | Meaning | What to do | Retryable |"
        yield "|---|---|---|---|---|"
        for error in _below(branch):
            retried = "yes" if error.retryable else "no"
            yield (
                f"| `{error.__name__}` | `{error.code}` | {inspect.getdoc(error)} "
                f"| {error.default_hint} | {retried} |"
            )
        yield ""
    yield "## Causes of a response\n"
    yield "A response with status 400 or above has a cause and a remedy:"
    yield "`response.cause`, `response.remedy` and `response.raise_for_cause()`.\n"
    yield "| Cause | Remedy |"
    yield "|---|---|"
    yield from (f"| `{cause}` | {remedy} |" for cause, remedy in REMEDIES.items())
    yield "\nA test names the [reason](../reasons/index.md) behind the cause.\n"


def _below(branch: type[errors.OutkeyError]) -> Iterator[type[errors.OutkeyError]]:
    for error in branch.__subclasses__():
        # Modules of adapters have subclasses of their own, which nobody imports.
        public = error.__module__ == errors.__name__
        if public and error is not errors.BadResponse:
            yield error
        yield from _below(error)


def _audit() -> Iterator[str]:
    yield "# What is recorded\n"
    yield "An intent is recorded before credentials are sent, its outcome after."
    yield (
        "Rows have these facts and nothing else: no secret, body, query string or error"
        " text."
    )
    yield (
        "Every row has its time, `at`. The first one of a process also has `follows`,"
        " the streams of the processes before it.\n"
    )
    for event in (Intent, Outcome, Refusal, Change):
        tag = event._field_defaults.get("tag")
        title = f"`{tag}`" if isinstance(tag, Tag) else "Changes: `api:…` and `keys:…`"
        yield f"## {title}\n"
        yield f"{inspect.getdoc(event)}\n"
        yield from (f"- `{name}`" for name in event._fields if name != "numbers")
        if event is Change:
            yield "- `serial`, `good` and `refused`, of a rotation"
        if event is Intent:
            yield "- `attempt`, the ID that the outcome repeats"
        if event is not Outcome:
            yield "- `request_id`, if the server did it for a request: its log has it"
        yield ""


def _posture() -> Iterator[str]:
    yield "# Posture\n"
    yield "What `outkey doctor` checks; [Posture](../guide/posture.md) explains how."
    yield "A policy can block the checks of configurations.\n"
    for area in Area:
        yield f"## {area}\n"
        yield "| Id | Level | Meaning | What to do | Can be blocked |"
        yield "|---|---|---|---|---|"
        for check in POSTURE_CHECKS:
            if check.area is area:
                blocked = "yes" if check in CONFIGURATION_CHECKS else "no"
                texts = " | ".join(check.texts(name=ANY_NAME))
                yield f"| `{check.id}` | {check.level} | {texts} | {blocked} |"
        yield ""


def _scenes() -> Iterator[str]:
    yield "# Scenes of the sparring provider\n"
    yield "Start it with `python -m outkey.spar`, or `make spar` in a checkout."
    yield (
        "Its credentials are made up and public: user `sparring` with password `open"
        " sesame`,"
    )
    yield "token `spar-token`, key `spar-key` in `X-API-Key`.\n"
    yield "| Path | What it does |"
    yield "|---|---|"
    yield from (f"| `{path}` | {purpose} |" for path, purpose in index().items())
    yield ""


def outdated() -> list[str]:
    """Return the names of the pages that are not what the code says."""
    return [
        name
        for name, text in pages().items()
        if not (FOLDER / name).exists()
        or (FOLDER / name).read_text(encoding="utf-8") != text
    ]


def write() -> None:
    """Write all pages."""
    for name, text in pages().items():
        (FOLDER / name).parent.mkdir(exist_ok=True)
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if "--check" not in sys.argv:
        write()
    elif names := outdated():
        sys.exit(f"out of date, run python tools/reference.py: {', '.join(names)}")
