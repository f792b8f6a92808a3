"""Collect what the pages say, keep the German catalogue complete, and compile it.

Words come from the templates, from `gettext` calls of the Django hosts, and from the core, whose
labels, helps, remedies and statuses are English constants that the pages translate when they show
them. Without an argument the catalogue is written; with `--check` nothing is.
"""

import ast
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation.template import templatize

from outkey.adapters.keyring import KeyState
from outkey.core import errors
from outkey.core.access import permissions as access
from outkey.core.config.field_kinds import Tab
from outkey.core.config.fields import FIELDS
from outkey.core.diagnosis import REASONS, REMEDIES
from outkey.core.errors import BadAnswer, Cause, OutkeyError
from outkey.core.findings.checks import Level
from outkey.core.findings.health import Status
from outkey.core.findings.monitoring import NOTICE_KINDS
from outkey.core.findings.posture import EVERY
from outkey.core.oauth2.responses import FAILURES
from outkey.core.request.message import Source
from outkey.core.sync.run import FieldKind

SOURCE = Path(__file__).parent.parent / "src" / "outkey"
LOCALE = SOURCE / "hosts" / "django" / "locale" / "de" / "LC_MESSAGES"
CONTEXT = "outkey"
CHECKED = (  # what refuses or finds something with constant words
    *("core/findings/checks.py", "core/config/field_kinds.py", "core/oauth2/grants.py"),
    *("core/findings/line_checks.py", "core/sync/table.py"),
    *("core/sync/response.py", "core/sync/paging.py", "engine/sync/run_in_progress.py"),
    *("engine/sync/pull.py", "engine/sync/push.py", "engine/sync/runner.py"),
    *(
        "adapters/calendar_cronsim.py",
        "adapters/paths_jmespath.py",
        "hosts/django/records/django_records.py",
    ),
)
KEYWORDS = {"_": None, "gettext": None, "gettext_lazy": None}


def messages() -> list[tuple[str, str]]:
    """Return every text that the pages may show, once, with its context.

    The core's words have one of ours, or Django's own German for "None" would be shown.
    """
    ours = {(text, CONTEXT) for text in (*_of_core(), *_of_checks(), "History") if text}
    return sorted(
        ours | {(text, "") for text in (*_of_templates(), *_of_hosts()) if text}
    )


def _of_templates() -> Iterator[str]:
    settings.configure(USE_I18N=True)
    for file in sorted((SOURCE / "hosts").rglob("*.html")):
        python = templatize(file.read_text(encoding="utf-8"))
        for _, text, _, _ in extract("python", io.BytesIO(python.encode()), KEYWORDS):
            yield text if isinstance(text, str) else text[0]


def _of_hosts() -> Iterator[str]:
    for folder in ("demo_records", "django", "server"):
        for file in sorted((SOURCE / "hosts" / folder).rglob("*.py")):
            for _, text, _, _ in extract("python", file.open("rb"), KEYWORDS):
                yield text if isinstance(text, str) else text[0]


def _of_core() -> Iterator[str]:
    for field in FIELDS:
        yield field.label
        yield field.help
        yield from (label for _, label in field.choices)
    yield from (
        str(word) for words in (Tab, Source, KeyState, FieldKind) for word in words
    )
    yield from (
        str(word).replace("_", " ") for words in (Status, Cause) for word in words
    )
    yield from (str(remedy) for remedy in REMEDIES.values())
    yield from (
        "configuration",
        "secrets",
        "connect",
        "request",
        "complete",
        "all there",
    )
    yield from ("token", "Bearer token there", "DPoP token there")
    yield from (text for pair in FAILURES.values() for text in pair)
    yield from (text for check in EVERY for text in (check.message, check.hint))
    yield from (
        text for reason in REASONS.values() for text in (reason.title, reason.remedy)
    )
    yield from (
        text for kind in NOTICE_KINDS.values() for text in (kind.message, kind.hint)
    )
    yield from access.MESSAGES
    yield from map(str, Level)
    for name in dir(errors):
        kind = getattr(errors, name)
        if (
            isinstance(kind, type)
            and issubclass(kind, OutkeyError)
            and kind is not BadAnswer
        ):
            yield kind().message
            yield kind().hint or ""


def _of_checks() -> Iterator[str]:
    """Return the constant messages and hints of findings and refusals."""
    for name in CHECKED:
        for node in ast.walk(ast.parse((SOURCE / name).read_text(encoding="utf-8"))):
            for argument in _said(node):
                if isinstance(argument, ast.Constant) and isinstance(
                    argument.value, str
                ):
                    yield argument.value


def _said(node: ast.AST) -> list[ast.expr]:
    """Return what a finding says: in a call, or in a triple of field, message and hint."""
    if isinstance(node, ast.Yield | ast.Return) and isinstance(node.value, ast.Tuple):
        return node.value.elts[1:]
    if not isinstance(node, ast.Call):
        return []
    match getattr(node.func, "id", ""):
        case "Finding":
            return node.args[2:4]
        case "_error":
            return [
                named.value
                for named in node.keywords
                if named.arg in {"message", "hint"}
            ]
        case "ConfigError" | "EgressDenied" | "SyncFailed":
            return [
                *node.args,
                *(named.value for named in node.keywords if named.arg == "hint"),
            ]
    return []


def catalogue() -> Catalog:
    """Return the German catalogue with exactly today's texts."""
    file = LOCALE / "django.po"
    known = read_po(file.open("rb"), "de") if file.exists() else Catalog("de")
    made = Catalog("de", header_comment="# What the pages say, in German.", fuzzy=False)
    for text, context in messages():
        flags = ["python-format"] if re.search(r"%\(?\w", text) else []
        former = known.get(text, context or None)
        string = former.string if former else ""
        made.add(text, string, flags=flags, context=context or None)
    return made


def main() -> int:
    """Write or check the catalogue; 1 where something is missing or not current."""
    made = catalogue()
    missing = [message.id for message in made if message.id and not message.string]
    po, mo = io.BytesIO(), io.BytesIO()
    write_po(
        po, made, omit_header=False, width=0, include_lineno=False, ignore_obsolete=True
    )
    write_mo(mo, made)
    kept = rb"Language|Plural-Forms|MIME-Version|Content-Type|Content-Transfer-Encoding"
    text = re.sub(
        rb'"(?!(?:%s):)[A-Z][A-Za-z-]+: [^\n]*\\n"\n' % kept, b"", po.getvalue()
    )
    current = (LOCALE / "django.po").exists() and (
        LOCALE / "django.po"
    ).read_bytes() == text
    if "--check" not in sys.argv:
        LOCALE.mkdir(parents=True, exist_ok=True)
        (LOCALE / "django.po").write_bytes(text)
        (LOCALE / "django.mo").write_bytes(mo.getvalue())
        current = True
    for text_id in missing:
        print(f"not translated: {text_id}")
    if not current:
        print("the catalogue is not current: run python tools/messages.py")
    return 1 if missing or not current else 0


if __name__ == "__main__":
    sys.exit(main())
