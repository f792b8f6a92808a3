"""curl commands, read as curl would read them, and never executed."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus, unquote, urlsplit

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.curl_options import (
    FLAGS,
    SHORT,
    WITH_VALUE,
    WITHOUT_EFFECT,
)
from outkey.importing.core.readers.shell_words import ShellCommand, split_commands
from outkey.importing.core.report import ImportReport
from outkey.importing.core.seen import (
    AwsAuth,
    PasswordAuth,
    SeenApi,
    SeenRequest,
    TokenAuth,
)
from outkey.importing.core.urls import split_url

MAX_TEXT = 64 * 1024
MAX_OPTIONS = 200
FORM = "application/x-www-form-urlencoded"
_OPTION_IN_URL = re.compile(r"\s-{1,2}[A-Za-z]")
_CURL = re.compile(r"(?:.*[/\\])?curl(?:\.exe)?", re.IGNORECASE)
_GLOB_LIST = re.compile(r"(?<!\{)\{([^{},]*),[^{}]*\}(?!\})")
_GLOB_RANGE = re.compile(r"\[([0-9]+|[A-Za-z])-[0-9A-Za-z]+(?::\d+)?\]")
_AWS_WORD = re.compile(r"[A-Za-z0-9-]{1,40}")
_AWS_HOST = re.compile(r"([a-z0-9-]+)\.([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com")
_NEVER = Text("outkey always verifies certificates")
_NOT_READ = Text("files of this machine are not read: enter the value")
_COOKIE_FILE = Text(
    "a file with cookies is not read: if they are those of a login, choose Login as"
    " Token Source, and Store cookies"
)
_NO_REDIRECTS = Text("outkey follows redirects within the API's own origin only")
_IMPOSSIBLE = Text("outkey cannot do this")
_REFUSED = {
    "insecure": _NEVER,
    "location": _NO_REDIRECTS,
    "location-trusted": _NO_REDIRECTS,
    "config": _NOT_READ,
    "cookie-jar": _COOKIE_FILE,
    "netrc": _NOT_READ,
    "netrc-file": _NOT_READ,
    "netrc-optional": _NOT_READ,
    "proxy-insecure": _NEVER,
}
_LEVELS = {"location": Level.NOTICE}


@dataclass(slots=True, repr=False)
class CurlCall:
    """The options of one command, up to `--next`."""

    urls: list[str] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    removed: set[str] = field(default_factory=set)
    body: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    content_type: str = ""
    method: str = ""
    user: str | None = None
    bearer: str = ""
    sigv4: str | None = None
    flags: set[str] = field(default_factory=set)
    values: dict[str, object] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    has_unread_body: bool = False


def read_curl(text: str, report: ImportReport) -> list[SeenApi]:
    """Return the APIs that the curl commands of a text call."""
    if len(text) > MAX_TEXT:
        raise ConfigError(
            Text("the commands are longer than {limit} characters", limit=MAX_TEXT),
            hint=Text("Paste the command without its body."),
        )
    if re.search(r"\b(?:Invoke-WebRequest|Invoke-RestMethod|iwr|irm)\b", text):
        raise ConfigError(
            Text("this is a PowerShell command, not a curl command"),
            hint=Text("In the browser choose Copy as cURL (bash) or Copy as cURL."),
        )
    calls: list[CurlCall] = []
    for command in split_commands(text):
        words = _curl_arguments(command)
        if words is None:
            report.note_dropped(
                "command", Text("it is not a curl command"), Level.NOTICE
            )
            continue
        if command.is_piped:
            report.note_dropped("|", Text("what follows is not run"), Level.NOTICE)
        read_calls = CommandReader(words, report).calls()
        if command.is_unclosed:
            refuse_swallowed(read_calls)
            report.note_changed("quote", Text("it is not closed: check the command"))
        _refuse_misplaced_quotes(read_calls)
        calls += read_calls
    if not calls:
        raise ConfigError(
            Text("there is no curl command with a URL in it"),
            hint=Text("Paste a command such as: curl https://api.example.com/v1/me"),
        )
    return _group_calls(calls, report)


def refuse_swallowed(calls: list[CurlCall]) -> None:
    """Refuse a command whose URL is missing, or has what follows an open quote."""
    urls = [url for call in calls for url in call.urls]
    if not urls or any(re.search(r"\s", url) for url in urls):
        raise ConfigError(
            Text("a quote is not closed"),
            hint=Text("Copy the whole command, up to its last quote."),
        )


def _refuse_misplaced_quotes(calls: list[CurlCall]) -> None:
    """Refuse a URL with an option in it: its value may be a secret, and URLs are shown.

    curl itself refuses a URL with a space.
    """
    if any(_OPTION_IN_URL.search(url) for call in calls for url in call.urls):
        raise ConfigError(
            Text("a quote is in the wrong place: the URL has an option in it"),
            hint=Text("Close the quote after the URL."),
        )


def _curl_arguments(command: ShellCommand) -> list[str] | None:
    """Return the arguments of curl, None where another program is called."""
    for number, word in enumerate(command.words[:4]):
        if _CURL.fullmatch(word):
            return command.words[number + 1 :]
        if word.rpartition("/")[2] not in {"sudo", "time", "env", "command", "exec"}:
            break
    return None


class CommandReader:
    """Reads the arguments of one curl command."""

    def __init__(self, words: list[str], report: ImportReport) -> None:
        self._words = words
        self._report = report
        self._calls: list[CurlCall] = [CurlCall()]
        self._handlers: dict[str, Callable[[CurlCall, str], None]] = {
            "url": lambda call, value: call.urls.append(value),
            "header": self._header,
            "request": self._method,
            "user": self._user,
            "oauth2-bearer": self._bearer,
            "user-agent": lambda call, value: self._set(call, "User-Agent", value),
            "referer": lambda call, value: self._set(call, "Referer", value),
            "range": lambda call, value: self._set(call, "Range", f"bytes={value}"),
            "cookie": self._cookie,
            "data": self._data,
            "data-ascii": self._data,
            "data-binary": self._data,
            "data-raw": self._raw,
            "data-urlencode": self._data_urlencode,
            "json": self._json,
            "form": self._form,
            "form-string": self._form,
            "url-query": self._url_query,
            "aws-sigv4": self._sigv4,
            "proxy": self._proxy,
            "proxy-user": self._proxy_user,
            "cacert": lambda call, value: self._path(call, "tls.ca_file", value),
            "cert": self._certificate,
            "key": self._key,
            "pass": self._passphrase,
            "max-time": lambda c, v: self._number(c, "limits.total_timeout", v),
            "connect-timeout": lambda c, v: self._number(
                c, "limits.connect_timeout", v
            ),
            "retry": self._retries,
            "upload-file": self._upload,
        }

    def calls(self) -> list[CurlCall]:
        """Return the requests of the command; none without a URL."""
        for count, (name, value) in enumerate(self._options()):
            if count >= MAX_OPTIONS:
                raise ConfigError(
                    Text("a command has more than {limit} options", limit=MAX_OPTIONS)
                )
            self._take(name, value)
        return [call for call in self._calls if call.urls]

    def _options(self) -> Iterator[tuple[str, str]]:
        """Yield the options with their values; a bare word is a URL."""
        words = iter(self._words)
        is_plain = False
        for word in words:
            if is_plain or not word.startswith("-") or word == "-":
                yield "url", word
            elif word == "--":
                is_plain = True
            elif word.startswith("--"):
                name = full_name(word[2:])
                yield name, next(words, "") if name in WITH_VALUE else ""
            else:
                letters = word[1:]
                while letters:
                    name = SHORT.get(letters[0], "")
                    letters = letters[1:]
                    if name in WITH_VALUE:
                        yield name, letters or next(words, "")
                        break
                    yield name, ""

    def _take(self, name: str, value: str) -> None:
        call = self._calls[-1]
        if name == "next":
            self._calls.append(CurlCall())
        elif name in self._handlers:
            self._handlers[name](call, value)
        elif name in _REFUSED:
            level = _LEVELS.get(name, Level.WARNING)
            self._report.note_dropped(f"--{name}", _REFUSED[name], level)
        elif name in {"get", "head", "digest"}:
            call.flags.add(name)
        elif name in {"tlsv1.3", "tlsv1.2", "tlsv1", "tlsv1.0", "tlsv1.1"}:
            if name == "tlsv1.3":
                call.values["tls.minimum_version"] = "1.3"
        elif not name:
            self._report.note_dropped("option", Text("curl has no such option"))
        elif name not in WITHOUT_EFFECT:
            self._report.note_dropped(f"--{name}", _IMPOSSIBLE)

    # ── headers and credentials ─────────────────────────────────────────────────────

    def _header(self, call: CurlCall, value: str) -> None:
        if value.startswith("@"):
            self._report.note_dropped("--header", _NOT_READ)
            return
        name, colon, text = value.partition(":")
        if not colon and name.endswith(";"):
            self._set(call, name[:-1].strip(), "", is_empty=True)
        elif not colon:
            self._report.note_dropped("--header", Text("a header needs a colon"))
        elif not text.strip():
            call.removed.add(name.strip().lower())
        else:
            self._add(call, name.strip(), text.strip())

    def _add(self, call: CurlCall, name: str, value: str) -> None:
        call.headers.append((name, value))

    def _set(
        self, call: CurlCall, name: str, value: str, *, is_empty: bool = False
    ) -> None:
        if value or is_empty:
            self._add(call, name, value)

    def _method(self, call: CurlCall, value: str) -> None:
        call.method = value

    def _user(self, call: CurlCall, value: str) -> None:
        call.user = value

    def _bearer(self, call: CurlCall, value: str) -> None:
        call.bearer = value

    def _sigv4(self, call: CurlCall, value: str) -> None:
        call.sigv4 = value

    def _cookie(self, call: CurlCall, value: str) -> None:
        if "=" in value:
            self._add(call, "Cookie", value)
        else:
            self._report.note_dropped("--cookie", _COOKIE_FILE)

    # ── body and parameters ─────────────────────────────────────────────────────────

    def _data(self, call: CurlCall, value: str) -> None:
        if value.startswith("@"):
            self._report.note_dropped("--data", _NOT_READ)
            call.has_unread_body = True
            call.content_type = call.content_type or FORM
        else:
            self._raw(call, value)

    def _raw(self, call: CurlCall, value: str) -> None:
        call.body.append(value)
        call.content_type = call.content_type or FORM

    def _data_urlencode(self, call: CurlCall, value: str) -> None:
        name, sign, text = value.partition("=")
        if not sign and "@" in value:
            self._report.note_dropped("--data-urlencode", _NOT_READ)
            call.has_unread_body = True
        elif not sign:
            self._raw(call, quote(value, safe="-._~"))
        else:
            prefix = f"{name}=" if name else ""
            self._raw(call, prefix + quote(text, safe="-._~"))

    def _json(self, call: CurlCall, value: str) -> None:
        call.content_type = "application/json"
        if value.startswith("@"):
            self._report.note_dropped("--json", _NOT_READ)
            call.has_unread_body = True
        else:
            call.body.append(value)
        if "accept" not in (name.lower() for name, _ in call.headers):
            self._add(call, "Accept", "application/json")

    def _form(self, call: CurlCall, value: str) -> None:
        del value
        self._report.note_dropped(
            "--form", Text("forms of several parts are not taken")
        )
        call.has_unread_body = True
        call.content_type = "multipart/form-data"

    def _upload(self, call: CurlCall, value: str) -> None:
        del value
        self._report.note_dropped("--upload-file", _NOT_READ)
        call.method = call.method or "PUT"
        call.has_unread_body = True

    def _url_query(self, call: CurlCall, value: str) -> None:
        if value.startswith("+"):
            call.parameters.append(value[1:])
        elif value.startswith("@") or ("@" in value and "=" not in value):
            self._report.note_dropped("--url-query", _NOT_READ)
        else:
            name, sign, text = value.partition("=")
            encoded = quote_plus(text if sign else value)
            call.parameters.append(f"{name}={encoded}" if name and sign else encoded)

    # ── proxy, TLS and limits ───────────────────────────────────────────────────────

    def _proxy(self, call: CurlCall, value: str) -> None:
        text = value if "://" in value else f"http://{value}"
        parts = urlsplit(text)
        if parts.scheme not in {"http", "https"}:
            self._report.note_dropped(
                "--proxy", Text("only http and https proxies work")
            )
            return
        address = parts.netloc.rpartition("@")[2]
        if ":" not in address.rpartition("]")[2]:
            address = f"{address}:1080"  # curl's default
        call.values["proxy.url"] = f"{parts.scheme}://{address}"
        self._report.note_taken("--proxy", Text("requests go through it"))
        if "@" in parts.netloc:
            self._proxy_user(call, unquote(parts.netloc.rpartition("@")[0]))

    def _proxy_user(self, call: CurlCall, value: str) -> None:
        username, _, password = value.partition(":")
        call.values["proxy.username"] = username
        call.secrets["proxy_password"] = password

    def _path(self, call: CurlCall, path: str, value: str) -> None:
        call.values[path] = value
        self._report.note_taken(path, Text("the file must be on the machine of outkey"))

    def _certificate(self, call: CurlCall, value: str) -> None:
        file, _, password = value.partition(":")
        if file.lower().endswith((".p12", ".pfx")):
            self._report.note_dropped(
                "--cert", Text("PKCS #12 files must become PEM files")
            )
            return
        self._path(call, "tls.client_certificate", file)
        if password:
            self._passphrase(call, password)
        call.files.setdefault("client_key", file)  # curl looks for it there too

    def _key(self, call: CurlCall, value: str) -> None:
        call.files["client_key"] = value

    def _passphrase(self, call: CurlCall, value: str) -> None:
        del call, value
        self._report.note_dropped("--pass", Text("enter the key without a passphrase"))

    def _number(self, call: CurlCall, path: str, value: str) -> None:
        try:
            call.values[path] = float(value)
        except ValueError:
            self._report.note_dropped(path, Text("it is not a number"))
        else:
            self._report.note_taken(path, Text("as a limit"))

    def _retries(self, call: CurlCall, value: str) -> None:
        if value.isdecimal() and len(value) < 5:
            call.values["limits.retries"] = min(int(value), 10)
            self._report.note_taken("limits.retries", Text("as a limit"))


def full_name(name: str) -> str:
    """Return the name of a long option; "" if curl has no such one."""
    options = WITH_VALUE | FLAGS
    if name in options:
        return name
    bare = name.removeprefix("no-")
    if bare in FLAGS:
        return "silent"  # switched off, and so without effect
    matches = [option for option in options if option.startswith(name)]
    return matches[0] if len(matches) == 1 and len(name) > 2 else ""


def _group_calls(calls: list[CurlCall], report: ImportReport) -> list[SeenApi]:
    """Return one API for each origin; what gives tokens joins the others."""
    apis: dict[str, SeenApi] = {}
    for call in calls:
        for request in requests_of(call, report):
            url = split_url(request.url)
            api = apis.setdefault(url.origin, SeenApi([]))
            api.requests.append(request)
            api.values |= call.values
            api.secrets |= call.secrets
            api.files |= call.files
    return list(apis.values())


def requests_of(call: CurlCall, report: ImportReport) -> Iterator[SeenRequest]:
    """Yield the requests of a call: one for each URL."""
    body = "&".join(call.body)
    has_data = bool(call.body) or call.has_unread_body
    parameters = list(call.parameters)
    if "get" in call.flags and call.body:
        parameters.append(body)
        body = ""
        has_data = False
    headers = [
        (name, value)
        for name, value in call.headers
        if name.lower() not in call.removed
    ]
    if (
        has_data
        and call.content_type
        and not any(name.lower() == "content-type" for name, _ in headers)
    ):
        headers.append(("Content-Type", call.content_type))
    for url in call.urls:
        whole = _first_of_glob(url, report)
        whole = whole.partition("#")[0]
        for text in parameters:
            whole += ("&" if "?" in whole else "?") + text
        request = SeenRequest(
            whole,
            method=method_of(call, has_data=has_data),
            headers=headers,
            body=body,
            has_body=has_data,
        )
        request.auth = auth_of(call, whole, report)
        yield request


def method_of(call: CurlCall, *, has_data: bool) -> str:
    """Return the method that curl would choose."""
    if call.method:
        return call.method.upper()
    if "head" in call.flags:
        return "HEAD"
    return "POST" if has_data else "GET"


def auth_of(
    call: CurlCall, url: str, report: ImportReport
) -> tuple[PasswordAuth | TokenAuth | AwsAuth, ...]:
    """Return how a call authenticates, but for its headers."""
    if call.sigv4 is not None:
        return aws_auth(call, url, report)
    if call.bearer:
        return (TokenAuth(call.bearer),)
    if call.user is None:
        return ()
    username, colon, password = call.user.partition(":")
    is_digest = "digest" in call.flags
    return (PasswordAuth(username, password if colon else None, is_digest),)


def aws_auth(call: CurlCall, url: str, report: ImportReport) -> tuple[AwsAuth, ...]:
    """Return the keys of `--aws-sigv4`, with region and service."""
    words = [*(call.sigv4 or "").split(":"), "", "", "", ""]
    if words[0].lower() != "aws":
        report.note_dropped("--aws-sigv4", Text("only the signature of AWS is known"))
        return ()
    host = _AWS_HOST.search(url)
    region = words[2] or (host[2] if host else "")
    service = words[3] or (host[1] if host else "")
    if not all(_AWS_WORD.fullmatch(word) for word in (region, service)):
        region = service = ""
    access_key, _, secret_key = (call.user or "").partition(":")
    return (AwsAuth(access_key, secret_key, region, service),)


def _first_of_glob(url: str, report: ImportReport) -> str:
    """Return the first URL of a pattern, which curl would call for each value."""
    first = _GLOB_LIST.sub(lambda match: match[1], url)
    first = _GLOB_RANGE.sub(lambda match: match[1], first)
    if first != url:
        report.note_changed(
            "URL", Text("of several URLs in a pattern the first was taken")
        )
    return first
