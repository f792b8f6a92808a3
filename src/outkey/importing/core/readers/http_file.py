""".http and .rest files, as editors run them; their scripts are never run."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.collections import CollectedRequest, group_requests
from outkey.importing.core.readers.tree import read_json, table, text_of
from outkey.importing.core.report import ImportReport
from outkey.importing.core.seen import PasswordAuth, SeenApi, SeenRequest
from outkey.importing.core.variables import Variables

MAX_LINES = 50_000
_SEPARATOR = re.compile(r"(?m)^###.*$")
_VARIABLE = re.compile(r"^@([\w.-]+)\s*=\s*(.*)$")
_NAME = re.compile(r"^(?:#|//)\s*@name\s*=?\s*(\S+)")
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_BASIC_PAIR = re.compile(r"Basic +([^\s:]+)(?: +|:)(\S+)", re.IGNORECASE)


def read_http_file(texts: Sequence[str], report: ImportReport) -> list[SeenApi]:
    """Return the APIs of a file; other texts are its environments, as JSON."""
    variables = Variables()
    requests = []
    for text in texts:
        if text.lstrip().startswith("{") and len(texts) > 1:
            for environment in table(read_json(text)).values():
                values = table(environment).items()
                variables.add({name: text_of(value) for name, value in values})
        else:
            requests.append(text.replace("\r\n", "\n"))
    if sum(text.count("\n") for text in requests) > MAX_LINES:
        raise ConfigError(Text("the file has more than {limit} lines", limit=MAX_LINES))
    for text in requests:
        for line in text.split("\n"):
            if match := _VARIABLE.match(line.strip()):
                variables.add({match[1]: match[2].strip()})
    collected = (
        request
        for text in requests
        for part in _SEPARATOR.split(text)
        for request in read_part(part, variables, report)
    )
    return group_requests(collected, "", report)


def read_part(
    part: str, variables: Variables, report: ImportReport
) -> Iterator[CollectedRequest]:
    """Yield the request between two separators, if there is one."""
    lines = deque(part.split("\n"))
    name = ""
    while lines and _is_before_request(lines[0]):
        line = lines.popleft().strip()
        if match := _NAME.match(line):
            name = match[1][:80]
    if not lines:
        return
    method, url = _split_request_line(lines.popleft().strip())
    while lines and re.match(r"\s+[?&/]", lines[0]):
        url += lines.popleft().strip()
    request = SeenRequest(variables.resolve_url(url), method, name=name)
    while lines and lines[0].strip():
        header, colon, value = lines.popleft().partition(":")
        resolved = variables.resolve_named(header.strip(), value)
        add_header(request, f"{header}{colon}{resolved}")
    _add_body(request, lines, variables, report)
    yield CollectedRequest(request, request.auth)


def _split_request_line(line: str) -> tuple[str, str]:
    """Return method and URL of a line; both method and version may be left out."""
    method, _, rest = line.partition(" ")
    if method not in _METHODS:
        method = "GET"
        rest = line
    url, _, version = rest.strip().rpartition(" ")
    return method, url.strip() if version.startswith("HTTP/") else rest.strip()


def _is_before_request(line: str) -> bool:
    """Whether a line is empty, a comment, a variable or a script before a request."""
    text = line.strip()
    return not text or text.startswith(("#", "//", "@", "<"))


def add_header(request: SeenRequest, line: str) -> None:
    """Add the header of a line; the client encodes a pair of user and password."""
    if line.lstrip().startswith(("#", "//")):
        return
    name, _, value = line.partition(":")
    pair = _BASIC_PAIR.fullmatch(value.strip())
    if name.strip().lower() == "authorization" and pair:
        request.auth = (PasswordAuth(pair[1], pair[2]),)
    else:
        request.headers.append((name.strip(), value.strip()))


def _add_body(
    request: SeenRequest,
    lines: Iterable[str],
    variables: Variables,
    report: ImportReport,
) -> None:
    """Add the body, without the scripts that handle the response."""
    body_lines = []
    for line in lines:
        if line.startswith(("> ", ">>")):
            report.note_dropped("script", Text("it is never run"), Level.NOTICE)
            break
        if line.startswith("< "):
            report.note_dropped("body", Text("files of this machine are not read"))
        else:
            body_lines.append(line)
    request.body = variables.resolve("\n".join(body_lines).strip())
    request.has_body = bool(request.body)
