"""List every text for users, and complete and compile the German catalogue.

Texts come from `Text("…")` calls in the source, from the tables whose rows become texts
(fields, reasons, checks, error classes, choices), and from the templates and `gettext`
calls of the Django hosts.

    python tools/messages.py           write the catalogue
    python tools/messages.py --check   write nothing; 1 if it is incomplete or outdated
    python tools/messages.py --list    print every text
"""

import ast
import io
import re
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from string import Formatter

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation.template import templatize

from outkey.administration.core.findings.catalogue import ALL_CHECKS
from outkey.foundation.core import errors
from outkey.foundation.core.errors import BadResponse, Cause, OutkeyError
from outkey.foundation.core.fields.field_kinds import Tab
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.text import Text
from outkey.importing.core.report import ReportAction
from outkey.sending.adapters.secrets.keyring import KeyState
from outkey.sending.core.configuration.field_tables.login import STEP_FIELDS
from outkey.sending.core.configuration.fields import FIELDS
from outkey.sending.core.configuration.health import Status
from outkey.sending.core.diagnosis.evidence import Certainty
from outkey.sending.core.diagnosis.reasons import FIXES, REASONS, REMEDIES
from outkey.sending.core.oauth2.responses import FAILURES
from outkey.sending.core.request.addresses import AddressKind
from outkey.sending.core.request.message import Source
from outkey.sync.core.databases.section import DATABASE_FIELDS
from outkey.sync.core.line.fields import EVERY_LINE_FIELD
from outkey.sync.core.line_form.schedule_choices import ScheduleKind, Weekday
from outkey.sync.core.mapping.records import FieldKind
from outkey.sync.core.pairs.section import PAIR_FIELDS
from outkey.webhooks.core.settings.section import WEBHOOK_FIELDS

SOURCE = Path(__file__).parent.parent / "src" / "outkey"
LOCALE = SOURCE / "hosts" / "django" / "locale" / "de" / "LC_MESSAGES"
# The core's texts have their own context, or Django's German for "None" would be shown.
CONTEXT = "outkey"
Keywords = dict[
    str, tuple[int] | None
]  # the argument that is the text; None: the first
GETTEXT: Keywords = dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop"))
PGETTEXT: Keywords = {"pgettext": (2,)}
SECTION_FIELDS = (*STEP_FIELDS, *DATABASE_FIELDS, *PAIR_FIELDS, *WEBHOOK_FIELDS)
STEPS = ("configuration", "secrets", "token", "script", "connect", "request")
HEADERS = rb"Language|Plural-Forms|MIME-Version|Content-Type|Content-Transfer-Encoding"


def messages() -> list[tuple[str, str]]:
    """Return every text that a user may see, once, with its context."""
    core = {
        (template, CONTEXT)
        for template in (
            *source_templates(),
            *table_templates(),
            *template_texts(PGETTEXT),
        )
        if has_words(template)
    }
    hosts = {
        (text, "") for text in (*template_texts(GETTEXT), *gettext_texts()) if text
    }
    return sorted(core | hosts)


def has_words(template: str) -> bool:
    """Tell whether a template has something to translate besides its placeholders."""
    return any(
        any(character.isalpha() for character in literal)
        for literal, *_ in Formatter().parse(template)
    )


def extracted(file: io.IOBase, keywords: Keywords) -> Iterator[str]:
    """Yield the first argument of each call of a keyword."""
    for _, text, _, _ in extract("python", file, keywords):
        yield text if isinstance(text, str) else text[0]


def source_templates() -> Iterator[str]:
    """Yield the templates of all `Text("…")` calls."""
    for file in sorted(SOURCE.rglob("*.py")):
        content = file.read_bytes()
        if (
            b"from outkey.foundation.core.text import" in content
        ):  # not another class of that name
            yield from extracted(io.BytesIO(content), {"Text": None})


def template_texts(keywords: Keywords) -> Iterator[str]:
    """Yield the texts of the templates of the hosts, without or with a context."""
    if not settings.configured:
        settings.configure(USE_I18N=True)
    for file in sorted((SOURCE / "hosts").rglob("*.html")):
        python = templatize(file.read_text(encoding="utf-8"))
        if "ngettext(" in python:
            raise ValueError(f"{file.name} has a plural, which no language gets here")
        # In parentheses, where Python accepts any indentation.
        yield from extracted(io.BytesIO(f"({python})".encode()), keywords)


def gettext_texts() -> Iterator[str]:
    """Yield the texts of the `gettext` calls of the hosts."""
    for folder in ("demo_records", "django", "server"):
        for file in sorted((SOURCE / "hosts" / folder).rglob("*.py")):
            with file.open("rb") as source:
                yield from extracted(source, GETTEXT)


def hidden_calls() -> Iterator[str]:
    """Yield calls inside f-strings, where babel finds no text before Python 3.12."""
    names = {*GETTEXT, "ngettext", "Text"}
    for file in sorted(SOURCE.rglob("*.py")):
        for joined in ast.walk(ast.parse(file.read_bytes())):
            if not isinstance(joined, ast.JoinedStr):
                continue
            for call in ast.walk(joined):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") in names:
                    yield f"in an f-string: {file.relative_to(SOURCE)}:{call.lineno}"


def table_templates() -> Iterator[str]:
    """Yield the templates of the tables of the core."""
    for text in table_texts():
        yield from templates_of(text)


def templates_of(text: object) -> Iterator[str]:
    """Yield the template of a text and those of the texts in its values."""
    yield text.template if isinstance(text, Text) else str(text or "")
    for value in text.values.values() if isinstance(text, Text) else ():
        if isinstance(value, Text):
            yield from templates_of(value)


def table_texts() -> Iterator[str]:
    """Yield labels, helps, choices, reasons, findings, errors and enumerations."""
    for field in (*FIELDS, *EVERY_LINE_FIELD, *SECTION_FIELDS):
        yield from (field.label, field.help, *(label for _, label in field.choices))
    yield from labels(
        Tab, Source, AddressKind, KeyState, FieldKind, Level, ReportAction
    )
    yield from labels(Status, Cause)
    yield from (choice.label for choice in (*ScheduleKind, *Weekday, *Certainty))
    yield from STEPS
    yield from REMEDIES.values()
    yield from FIXES.values()
    yield from (text for pair in FAILURES.values() for text in pair)
    yield from (text for check in ALL_CHECKS for text in (check.message, check.hint))
    for reason in REASONS.values():
        yield from (reason.title, reason.remedy)
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, OutkeyError):
            yield error.default_hint
            if error is not BadResponse:
                yield error.default_message()


def labels(*enumerations: Iterable[Enum]) -> Iterator[str]:
    """Yield the values of enumerations as they are shown."""
    for enumeration in enumerations:
        yield from (str(item.value).replace("_", " ") for item in enumeration)


def placeholders(text: str, context: str) -> list[str]:
    """Return the placeholders of a text, in order of their names."""
    if context != CONTEXT:
        return sorted(re.findall(r"%(?:\(\w+\))?[sd]", text))
    return sorted(
        f"{name}:{spec}" for _, name, spec, _ in Formatter().parse(text) if name
    )


def catalogue() -> Catalog:
    """Return the German catalogue with exactly the present texts."""
    file = LOCALE / "django.po"
    previous = read_po(file.open("rb"), "de") if file.exists() else Catalog("de")
    current = Catalog(
        "de", header_comment="# The texts for users, in German.", fuzzy=False
    )
    for text, context in messages():
        flags = []
        if placeholders(text, context):
            flags = ["python-brace-format" if context else "python-format"]
        # A text that moved between a template and the core keeps its translation.
        other = None if context else CONTEXT
        message = previous.get(text, context or None) or previous.get(text, other)
        string = message.string if message else ""
        current.add(text, string, flags=flags, context=context or None)
    return current


def problems(catalog: Catalog) -> Iterator[str]:
    """Yield what is missing or wrong in a catalogue."""
    for message in catalog:
        if not message.id:
            continue
        context = message.context or ""
        if not message.string:
            yield f"not translated: {message.id}"
        elif placeholders(message.id, context) != placeholders(message.string, context):
            yield f"other placeholders: {message.id}"


def main() -> int:
    """Write, check or list the texts; 1 if something is missing, wrong or outdated."""
    if "--list" in sys.argv:
        for text, _ in messages():
            print(text)
        return 0
    catalog = catalogue()
    po = io.BytesIO()
    mo = io.BytesIO()
    write_po(po, catalog, width=0, include_lineno=False, ignore_obsolete=True)
    write_mo(mo, catalog)
    # Without dates and versions, so that only a change of a text changes the file.
    written = re.sub(
        rb'"(?!(?:%s):)[A-Z][A-Za-z-]+: [^\n]*\\n"\n' % HEADERS, b"", po.getvalue()
    )
    file = LOCALE / "django.po"
    found = [*problems(catalog), *hidden_calls()]
    if "--check" not in sys.argv:
        LOCALE.mkdir(parents=True, exist_ok=True)
        file.write_bytes(written)
        file.with_suffix(".mo").write_bytes(mo.getvalue())
    elif not file.exists() or file.read_bytes() != written:
        found.append("the catalogue is outdated: run python tools/messages.py")
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
