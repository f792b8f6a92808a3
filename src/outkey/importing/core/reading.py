"""Imports: which format a pasted text has, and what it describes.

Nothing is executed, fetched or looked up; no error repeats a part of the text.
"""

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from outkey.foundation.core.errors import ConfigError, drop_traceback
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.text import Text
from outkey.importing.core.api import draft_api
from outkey.importing.core.drafted_lines import DraftedLine
from outkey.importing.core.formats import ImportFormat
from outkey.importing.core.readers.bruno import read_bruno
from outkey.importing.core.readers.curl import read_curl
from outkey.importing.core.readers.har import read_har
from outkey.importing.core.readers.http_file import read_http_file
from outkey.importing.core.readers.insomnia import read_insomnia
from outkey.importing.core.readers.manifests.airbyte import read_airbyte
from outkey.importing.core.readers.manifests.dlt import is_configuration, read_dlt
from outkey.importing.core.readers.openapi import read_openapi
from outkey.importing.core.readers.postman import is_environment, read_postman
from outkey.importing.core.readers.tree import ReadYaml, Table, read_tree, refuse_long
from outkey.importing.core.report import ImportedConfiguration, ImportReport, ReportItem
from outkey.importing.core.seen import SeenApi, SeenRequest

MAX_APIS = 20
UNKNOWN_FORMAT = "unknown-format"  # the reason of an error that a choice may resolve
_URL = re.compile(r"\s*https?://\S+\s*", re.IGNORECASE)
_NAMES = {
    ImportFormat.CURL: "curl",
    ImportFormat.POSTMAN: "Postman",
    ImportFormat.OPENAPI: "OpenAPI",
    ImportFormat.INSOMNIA: "Insomnia",
    ImportFormat.BRUNO: "Bruno",
    ImportFormat.HTTP: ".http",
    ImportFormat.HAR: "HAR",
    ImportFormat.AIRBYTE: "Airbyte",
    ImportFormat.DLT: "dlt",
}
# The formats of trees, which are recognized by their keys and so without a doubt.
_TREES = frozenset(
    (
        ImportFormat.POSTMAN,
        ImportFormat.OPENAPI,
        ImportFormat.INSOMNIA,
        ImportFormat.HAR,
        ImportFormat.AIRBYTE,
    )
)
_HTTP_LINE = re.compile(
    r"(?m)^[ \t]*(?:###|(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+(?:https?://|\{\{|/))"
)
_YAML_KEY = re.compile(
    r"(?m)^(?:openapi|swagger|opencollection|info|http|type|version|definitions"
    r"|streams|client|resources|sources)\s*:"
)
# A Python file that calls rest_api, and the TOML of its dictionary.
_PYTHON = re.compile(
    r"(?m)^[^\n#'\"]{0,200}\b(?:rest_api_(?:source|resources)\s*\(|RESTAPIConfig\b)"
)
_TOML = re.compile(r"(?m)^[ \t]*(?:\[client\]|\[\[resources\]\])[ \t\r]*$")
_BRUNO_BLOCK = re.compile(
    r"(?m)^(?:meta|get|post|put|patch|delete|head|options|auth|vars)(?::[a-z0-9:-]+)?"
    r"\s*[\[{]\s*$"
)
_CURL = re.compile(r"(?i)\bcurl(?:\.exe)?\b|\bInvoke-(?:WebRequest|RestMethod)\b")


@dataclass(frozen=True, slots=True)
class Tools:
    """Functions that an import needs from outside of the core."""

    read_yaml: ReadYaml


@dataclass(frozen=True, slots=True)
class Import:
    """All that was read of one input."""

    configurations: tuple[ImportedConfiguration, ...]
    lines: tuple[DraftedLine, ...]
    report: tuple[ReportItem, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a part is missing without which no request can succeed."""
        return any(item.level is Level.ERROR for item in self.report)


@drop_traceback
def read_import(
    texts: Sequence[str],
    tools: Tools,
    *,
    source: str = "",
    name: str = "",
    taken: Collection[str] = (),
) -> Import:
    """Read a pasted text or the texts of several files, such as an environment's.

    Without a `source` the format is recognized. A name that is `taken` gets a number.
    Raises ConfigError.
    """
    for text in texts:
        refuse_long(text)
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise ConfigError(Text("there is nothing to import"))
    report = ImportReport()
    apis = _read_apis(texts, tools, source, report)[:MAX_APIS]
    if not apis:
        raise ConfigError(
            Text("no request or API was found in it"),
            hint=Text("Paste one request, such as a curl command."),
            reason=UNKNOWN_FORMAT,
        )
    configurations: list[ImportedConfiguration] = []
    lines: list[DraftedLine] = []
    names = set(taken)
    apis = _join_token_requests(apis)
    for number, api in enumerate(apis, start=1):
        wanted = name if number == 1 or not name else f"{name} {number}"
        own_report = report if len(apis) == 1 else ImportReport()
        configuration, drafted = draft_api(api, own_report, name=wanted, taken=names)
        if own_report is not report:
            report.add_items_of(own_report, configuration.draft.name)
        configurations.append(configuration)
        lines += drafted
    return Import(tuple(configurations), tuple(lines), tuple(report.items))


def _read_apis(
    texts: Sequence[str], tools: Tools, source: str, report: ImportReport
) -> list[SeenApi]:
    """Return the APIs that the texts describe."""
    if source in {"", ImportFormat.CURL} and _URL.fullmatch(texts[0]):
        return [SeenApi([SeenRequest(texts[0].strip())])]
    if not source:
        return _read_format(texts, tools, recognize(texts[0], tools), report)
    import_format = ImportFormat(source)
    found = recognized(texts, tools)
    is_other = bool(found) and import_format not in found
    if is_other and import_format in _TREES:
        raise _other_format(import_format, found[0])
    try:
        apis = _read_format(texts, tools, import_format, report)
    except ConfigError:
        if is_other:
            raise _other_format(import_format, found[0]) from None
        raise
    if not apis and is_other:
        raise _other_format(import_format, found[0])
    return apis


def recognized(texts: Sequence[str], tools: Tools) -> list[ImportFormat]:
    """Return the formats that the texts look like."""
    formats = []
    for text in texts:
        with suppress(ConfigError):
            formats.append(recognize(text, tools))
    return formats


def _other_format(chosen: ImportFormat, found: ImportFormat) -> ConfigError:
    """Return the error for a text of another format than the chosen one."""
    return ConfigError(
        Text(
            "the chosen format is {chosen}, but this looks like {found}",
            chosen=_NAMES[chosen],
            found=_NAMES[found],
        ),
        hint=Text("Choose {found}, or no format at all.", found=_NAMES[found]),
    )


def _read_format(
    texts: Sequence[str],
    tools: Tools,
    import_format: ImportFormat,
    report: ImportReport,
) -> list[SeenApi]:
    """Return the APIs that texts of one format describe."""
    if import_format is ImportFormat.CURL:
        return read_curl("\n".join(texts), report)
    if import_format is ImportFormat.HTTP:
        return read_http_file(texts, report)
    if import_format is ImportFormat.BRUNO:
        return read_bruno(texts, tools.read_yaml, report)
    if import_format is ImportFormat.DLT:
        return read_dlt(texts, tools.read_yaml, report)
    trees = [read_tree(text, tools.read_yaml) for text in texts]
    readers = {
        ImportFormat.POSTMAN: read_postman,
        ImportFormat.OPENAPI: read_openapi,
        ImportFormat.INSOMNIA: read_insomnia,
        ImportFormat.HAR: read_har,
        ImportFormat.AIRBYTE: read_airbyte,
    }
    return readers[import_format](trees, report)


def recognize(text: str, tools: Tools) -> ImportFormat:
    """Return the format of a text, or raise ConfigError."""
    start = text.lstrip("\ufeff \t\r\n")
    if _PYTHON.search(text) or _TOML.search(text):
        return ImportFormat.DLT
    if start.startswith("{"):
        return _recognize_tree(read_tree(start, tools.read_yaml))
    if _HTTP_LINE.search(text) and not re.match(r"[^\n]*\bcurl\b", start):
        return ImportFormat.HTTP
    if _YAML_KEY.search(text):
        return _recognize_tree(read_tree(text, tools.read_yaml))
    if _BRUNO_BLOCK.search(text):
        return ImportFormat.BRUNO
    if _CURL.search(text):
        return ImportFormat.CURL
    raise _unknown_format()


def _recognize_tree(tree: Table) -> ImportFormat:
    """Return the format of a tree, or raise ConfigError."""
    kind = str(tree.get("type", ""))
    is_manifest = kind == "DeclarativeSource" or isinstance(tree.get("streams"), list)
    is_export = "resources" in tree or kind.endswith("insomnia.rest/5.0")
    marks = (
        ("openapi" in tree or "swagger" in tree, ImportFormat.OPENAPI),
        (is_manifest, ImportFormat.AIRBYTE),
        (is_configuration(tree), ImportFormat.DLT),
        (is_export, ImportFormat.INSOMNIA),
        ("log" in tree, ImportFormat.HAR),
        ("opencollection" in tree or "http" in tree, ImportFormat.BRUNO),
        ("item" in tree or is_environment(tree), ImportFormat.POSTMAN),
    )
    for is_marked, import_format in marks:
        if is_marked:
            return import_format
    raise _unknown_format()


def _unknown_format() -> ConfigError:
    """Return the error for a text that no format fits."""
    return ConfigError(
        Text("the format was not recognized"),
        hint=Text("These are read: {names}.", names=", ".join(ImportFormat)),
        reason=UNKNOWN_FORMAT,
    )


def _join_token_requests(apis: list[SeenApi]) -> list[SeenApi]:
    """Return the APIs, with token requests of another origin at the API they are for.

    With more than one API it is not known for which, so that they stay apart.
    """
    token_apis = [api for api in apis if all(map(_asks_for_token, api.requests))]
    others = [api for api in apis if api not in token_apis]
    if len(others) != 1 or not all(api.requests for api in token_apis):
        return apis
    for token_api in token_apis:
        others[0].requests += token_api.requests
    return others


def _asks_for_token(request: SeenRequest) -> bool:
    """Whether a request is a token request of OAuth 2.0."""
    return "grant_type" in request.body
