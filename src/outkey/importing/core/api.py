"""One API of an import: its requests and credentials made into a configuration."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import check_method
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.paging_words import pagination_of
from outkey.foundation.core.text import Text
from outkey.importing.core.authorization import authorization, encoded_pair
from outkey.importing.core.drafting import Drafter
from outkey.importing.core.reading_calls import only_reads
from outkey.importing.core.report import (
    ImportedConfiguration,
    ImportReport,
    shown_name,
    unique,
)
from outkey.importing.core.seen import (
    Auth,
    AwsAuth,
    KeyAuth,
    LoginAuth,
    OAuth1Auth,
    PasswordAuth,
    SeenApi,
    SeenRequest,
    TokenAuth,
)
from outkey.importing.core.token_requests import token_auth
from outkey.importing.core.urls import (
    SeenUrl,
    base_path,
    credentials_of,
    has_credentials,
    is_secret_header,
    name_of_host,
    query_pairs,
    split_url,
    without_credentials,
)
from outkey.sending.core.configuration.body_credentials import credentials_in_body
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.placeholders import is_secret_segment
from outkey.sending.core.request.headers import of_connection, tidy_value
from outkey.sync.core.line.line import Sync, SyncLine
from outkey.sync.core.line.section import read_request
from outkey.sync.core.line.table import read_sync
from outkey.sync.core.suggest.suggest import default_target

MAX_LINES = 50
MAX_HEADERS = 200
_MAX_TARGET = 60  # characters of a table's name, so that a number fits behind it
_OF_CLIENTS = re.compile(
    r"sec-.*|accept-encoding|priority|pragma|cache-control|dnt|if-.*"
    r"|upgrade-insecure-requests|x-client-data|:.*|postman-token",
    re.IGNORECASE,
)
# Placeholders that a line fills in itself.
_OF_LINES = re.compile(r"\{(?:parent\.[\w-]+|job\.id)\}", re.ASCII)
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class DraftedLine:
    """A first sync line, and how its URL asks for pages."""

    line: SyncLine
    pagination: Mapping[str, object]


def draft_api(
    api: SeenApi, report: ImportReport, *, name: str, taken: set[str]
) -> tuple[ImportedConfiguration, list[DraftedLine]]:
    """Return the configuration of an API, and its first lines."""
    drafter = Drafter(report)
    drafter.values |= api.values
    sources = [(request, _source_of_token(request, report)) for request in api.requests]
    requests = [request for request, source in sources if source is None]
    token_sources = [source for _, source in sources if source is not None]
    urls = [split_url(request.url) for request in requests]
    encoded = None if api.auth or token_sources else _encoded_header(requests)
    _add_common_headers(drafter, requests, taken=encoded.header if encoded else "")
    credentials = [*api.auth, *_first_auth(requests, urls, report)]
    if encoded is not None:
        credentials.append(encoded)
    if token_sources:
        # The token of a pasted request is one that such a request obtained.
        credentials = [
            auth
            for auth in credentials
            if not isinstance(auth, TokenAuth | PasswordAuth)
        ]
        credentials.append(token_sources[0])
    _add_credentials(drafter, credentials)
    for secret, text in api.secrets.items():
        drafter.add_secret(secret, text, secret.replace("_", " "))
    for secret, file in api.files.items():
        drafter.add_file(secret, file)
    login = next((auth for auth in credentials if isinstance(auth, LoginAuth)), None)
    logins = [split_url(login.url)] if login else []
    _add_credential_parameters(drafter, [*urls, *logins])
    origin, path = _set_location(drafter, api, urls, login)
    has_secret_body = _note_secret_bodies(requests, report)
    if not (has_secret_body or any(_has_secret_segment(url.path) for url in urls)):
        drafter.set_reason()  # else it has a credential, which has no field here
    readable = _readable_name(api.name)
    if name:
        BY_PATH["name"].parse(name)
    name = unique(name or readable or name_of_host(split_url(origin).host), taken)
    pairs = list(zip(requests, urls, strict=True))
    lines = list(_drafted_lines(name, path, pairs, origin, report))
    _set_test(drafter, api, lines, pairs)
    return drafter.finish(name), lines


def _note_secret_bodies(requests: Iterable[SeenRequest], report: ImportReport) -> bool:
    """Report credentials in the bodies of requests that are no logins."""
    has_secret = False
    for request in requests:
        members = credentials_in_body(request.body, with_placeholders=True)
        if request.sync is not None:  # its {names} are filled in from records
            members += credentials_in_body(str(request.sync.get("body", "")))
        for member in members:
            has_secret = True
            report.note_dropped(
                shown_name("member", member.name),
                Text(
                    "it is a credential in the body of a request: outkey sends"
                    " credentials in headers, in the query or by a login"
                ),
                Level.ERROR,
            )
    return has_secret


def _source_of_token(request: SeenRequest, report: ImportReport) -> Auth | None:
    """Return how tokens are obtained, if a request with a body obtains one."""
    is_asking = request.has_body or "grant_type=" in request.url
    return token_auth(request, report) if is_asking else None


def _encoded_header(requests: Iterable[SeenRequest]) -> TokenAuth | None:
    """Return the header with user name and token in Base64, beside no other type."""
    encoded: TokenAuth | None = None
    for request in requests:
        if request.auth or request.header("Authorization"):
            return None
        for name, value in request.headers[:MAX_HEADERS]:
            pair = encoded_pair(value) if is_secret_header(name, value) else None
            if pair is not None and name.lower() != "cookie":
                username, token = pair
                encoded = encoded or TokenAuth(token, header=name, username=username)
    return encoded


def _add_common_headers(
    drafter: Drafter, requests: list[SeenRequest], taken: str
) -> None:
    """Add rows for the headers: credentials of any request, others that all have.

    One header may be `taken` by the Authentication Type.
    """
    shared = _shared_headers(requests)
    for request in requests:
        if len(request.headers) > MAX_HEADERS:
            drafter.report.note_dropped(
                "headers", Text("only the first {count} were read", count=MAX_HEADERS)
            )
        for name, value in request.headers[:MAX_HEADERS]:
            lower = name.lower()
            if lower in {"authorization", taken.lower()}:
                continue
            item = shown_name("header", name)
            if of_connection(name) or _OF_CLIENTS.fullmatch(name):
                drafter.report.note_dropped(
                    item, Text("outkey sets it where it is needed"), Level.NOTICE
                )
            elif lower == "cookie":
                drafter.add_cookies(value)
            elif lower == "content-type" and request.has_body:
                drafter.report.note_dropped(
                    item,
                    Text("it describes the body, and is sent with one"),
                    Level.NOTICE,
                )
            elif is_secret_header(name, value) or (lower, value) in shared:
                _add_header_once(drafter, name, value)
            else:
                drafter.report.note_dropped(
                    item, Text("only some of the requests have it")
                )


def _shared_headers(requests: Iterable[SeenRequest]) -> set[tuple[str, str]]:
    """Return the names and values of headers that all requests have."""
    header_sets: list[set[tuple[str, str]]] = []
    for request in requests:
        first: dict[str, str] = {}
        for name, value in request.headers:
            first.setdefault(name.lower(), value)
        header_sets.append(set(first.items()))
    return set.intersection(*header_sets) if header_sets else set()


def _add_header_once(drafter: Drafter, name: str, value: str) -> None:
    """Add a header that several requests may have, once."""
    row = next((r for r in drafter.headers if r.key.lower() == name.lower()), None)
    is_same = row is not None and (row.secret or row.value == tidy_value(value))
    if not is_same:
        drafter.add_header(name, value)


def _first_auth(
    requests: Iterable[SeenRequest], urls: Iterable[SeenUrl], report: ImportReport
) -> list[Auth]:
    """Return how the first request authenticates that does."""
    for request, url in zip(requests, urls, strict=True):
        credentials = [*request.auth]
        if not credentials and url.has_user:
            report.note_changed(
                "URL", Text("user and password of the URL became Basic authentication")
            )
            credentials.append(PasswordAuth(url.username, url.password))
        has_header = any(
            isinstance(auth, PasswordAuth | TokenAuth) for auth in credentials
        )
        value = request.header("Authorization")
        if value and not any(
            isinstance(auth, AwsAuth | OAuth1Auth) for auth in credentials
        ):
            if has_header:  # a header that is given wins over one that is computed
                credentials = [
                    auth for auth in credentials if isinstance(auth, KeyAuth)
                ]
            credentials += authorization(value, report)
        if credentials:
            return credentials
    return []


def _add_credentials(drafter: Drafter, credentials: Iterable[Auth]) -> None:
    """Set the fields of all credentials; only one can be the Authentication Type."""
    for auth in credentials:
        is_second = "authentication_type" in drafter.values and not isinstance(
            auth, KeyAuth | AwsAuth
        )
        if is_second:
            drafter.report.note_dropped(
                "authentication", Text("there is another one, which was taken")
            )
        else:
            drafter.add_auth(auth)


def _add_credential_parameters(drafter: Drafter, urls: Iterable[SeenUrl]) -> None:
    """Add rows for the credentials in the queries of URLs."""
    names = set()
    for url in urls:
        credentials = credentials_of(url.query)
        for name, value, _ in query_pairs(url.query):
            if name in names:
                continue
            names.add(name)
            if name in credentials.secrets:
                drafter.add_parameter(name, value)
            elif name in credentials.users:
                drafter.add_user_parameter(name, value)
            elif name in credentials.unsure:
                drafter.report.note_taken(
                    shown_name("parameter", name),
                    Text(
                        "it may be a credential: if it is one, move it to Query"
                        " parameters, as secret"
                    ),
                    Level.WARNING,
                )


def _set_location(
    drafter: Drafter, api: SeenApi, urls: list[SeenUrl], login: LoginAuth | None
) -> tuple[str, str]:
    """Set Base URL and Login path; return the origin and the path of the Base URL."""
    login_url = split_url(login.url) if login else None
    if api.base_url:
        base = split_url(api.base_url)
        path = _path_below(base.path, "", drafter.report).rstrip("/")
    elif urls:
        base = urls[0]
        path = base_path([url.path for url in urls if url.origin == base.origin])
    elif login_url:
        base = login_url
        path = base_path([base.path])
    else:
        base = split_url(str(drafter.values.get("oauth2.token_url", "https://")))
        path = ""
        drafter.report.note_changed(
            "base_url",
            Text("only the token request was there: enter the API's Base URL"),
        )
    if login_url is not None and login_url.origin != base.origin:
        drafter.drop_login()
    elif login_url is not None:
        if not login_url.path.startswith(f"{path}/"):
            path = ""
        query = without_credentials(login_url.query)
        below = _path_below(login_url.path, path, drafter.report)
        drafter.values["login.path"] = f"{below}?{query}" if query else below
    drafter.set_base_url(base.origin, path, is_unknown=base.unknown_host)
    return base.origin, path


def _drafted_lines(
    name: str,
    path: str,
    requests: Iterable[tuple[SeenRequest, SeenUrl]],
    origin: str,
    report: ImportReport,
) -> Iterator[DraftedLine]:
    """Yield a line for each request at the API, without credentials in its path."""
    taken: set[str] = set()
    tables: set[str] = set()
    parents: dict[str, str] = {}  # the pulls by the places of their requests
    for request, url in requests:
        if url.origin != origin:
            report.note_dropped(
                shown_name("request", request.name),
                Text("it goes to another origin, which needs its own configuration"),
            )
            continue
        if len(taken) == MAX_LINES:
            report.note_dropped(
                "lines", Text("only the first {count} were taken", count=MAX_LINES)
            )
            return
        method = _checked_method(request.method, report)
        target = _target_below(url, path, report)
        if request.has_body:
            report.note_dropped(
                "body",
                Text("a line for single requests has none: pass it when sending"),
            )
        word = _readable_name(request.name) or last_word(target.partition("?")[0])
        label = unique(f"{name} {word}", taken)
        table = {"configuration": name, "method": method, "path": target}
        try:
            sync = _sync_for(request, label, tables, parents)
            line = read_request(label, table, sync)
        except ConfigError as error:
            report.note_dropped(shown_name("line", request.name), error.message)
            continue
        if sync is not None and request.place:
            parents[request.place] = label
        pagination = request.pagination or pagination_of(without_credentials(url.query))
        note_line(report, word, sync=line.sync, pagination=pagination)
        yield DraftedLine(line, pagination)


def note_line(
    report: ImportReport,
    word: str,
    *,
    sync: Sync | None,
    pagination: Mapping[str, object],
) -> None:
    """Report what a line pulls, or how it could request pages."""
    if sync is not None:
        report.note_taken(
            shown_name("line", word),
            Text(
                "it pulls into {target} with the key {key}, when you run it: check"
                " the target and the fields ({count})",
                count=len(sync.mappings),
                key=", ".join(sync.keys),
                target=sync.target,
            ),
        )
    elif pagination:
        report.note_taken(
            "pages",
            Text(
                "{parameters}; a sync line can use them once it has a target",
                parameters=_parameters_of_pages(pagination),
            ),
        )


def _sync_for(
    request: SeenRequest, label: str, tables: set[str], parents: Mapping[str, str]
) -> Sync | None:
    """Return the described synchronization, with a table that no other line has."""
    if request.sync is None:
        return None
    target = default_target(label)
    number = 2
    while target in tables:
        # Long names are cut, and so can be equal.
        target = f"{default_target(label)[:_MAX_TARGET].rstrip('_')}_{number}"
        number += 1
    settings = {**request.sync, "direction": "pull", "target": target}
    for_each = settings.get("for_each")
    if isinstance(for_each, dict) and "line" in for_each:
        parent = parents.get(str(for_each["line"]))
        if parent is None:
            raise ConfigError(Text("the line that it needs the records of is missing"))
        settings["for_each"] = {**for_each, "line": parent}
    sync = read_sync(settings)
    tables.add(target)
    return sync


def _parameters_of_pages(pagination: Mapping[str, object]) -> str:
    """Return how a query asks for pages, such as `page, per_page = 50`."""
    parts = [str(pagination.get("position_parameter") or pagination["cursor"])]
    if "size_parameter" in pagination:
        size = f" = {pagination['size']}" if "size" in pagination else ""
        parts.append(f"{pagination['size_parameter']}{size}")
    return ", ".join(parts)


def _readable_name(text: str) -> str:
    """Return a name as it may be shown, "" for one that may hold a credential.

    Postman names a request after its URL.
    """
    readable = "".join(filter(str.isprintable, text)).strip()
    plain = readable.partition("?")[0].strip()
    is_secret = has_credentials(readable) or any(
        map(is_secret_segment, re.split(r"[/\s]", plain))
    )
    return "" if is_secret else plain


def _checked_method(method: str, report: ImportReport) -> str:
    """Return a method that a line may have."""
    try:
        return check_method(method, field="method")
    except ConfigError as error:
        report.note_dropped("method", error.message)
        return "GET"


def _target_below(url: SeenUrl, base: str, report: ImportReport) -> str:
    """Return path and query below the Base URL, without credentials."""
    path = _path_below(url.path, base, report)
    if "{" in _OF_LINES.sub("", path):
        report.note_dropped(
            "path", Text("it has a placeholder: enter the value in the line")
        )
    query = without_credentials(url.query)
    return f"{path}?{query}" if query else path


def _has_secret_segment(path: str) -> bool:
    """Whether a part of a path looks like a credential."""
    return any(map(is_secret_segment, path.split("/")))


def _path_below(path: str, base: str, report: ImportReport) -> str:
    """Return the path below the Base URL, cut before a credential."""
    below = path.removeprefix(base) or "/"
    parts = below.split("/")
    for number, part in enumerate(parts):
        if is_secret_segment(part):
            report.note_dropped(
                "path",
                Text(
                    "a part of the path looks like a credential: outkey has no field"
                    " for one there"
                ),
                Level.ERROR,
            )
            return "/".join(parts[:number]) or "/"
    return below


def last_word(path: str) -> str:
    """Return the last part of a path that is a word."""
    parts = [part for part in path.split("/") if _WORDS.fullmatch(part)]
    return parts[-1] if parts else "request"


def _set_test(
    drafter: Drafter,
    api: SeenApi,
    lines: Sequence[DraftedLine],
    requests: Sequence[tuple[SeenRequest, SeenUrl]],
) -> None:
    """Set a test that changes nothing: the first plain GET, or a call that reads."""
    path = api.test_path
    for drafted in lines:
        is_fitting = drafted.line.method in {"GET", "HEAD"}
        if not path and is_fitting and "{" not in drafted.line.path:
            path = drafted.line.path
    call = None if path else _reading_call(requests, lines)
    if path:
        drafter.values["verification.test_path"] = path
    elif call is not None:
        drafter.values |= call
        drafter.report.note_taken(
            "test_body",
            Text("the test repeats this request: check that it changes nothing"),
            Level.WARNING,
        )
    else:
        drafter.report.note_changed(
            "test_path",
            Text("no request was seen that only reads: enter a Test Path"),
        )


def _reading_call(
    requests: Sequence[tuple[SeenRequest, SeenUrl]], lines: Sequence[DraftedLine]
) -> dict[str, object] | None:
    """Return the settings of a test that repeats a call that only reads, if any."""
    for request, url in requests[:MAX_LINES]:
        drafted = next((d for d in lines if _is_line_of(d, request, url)), None)
        if drafted is None or not only_reads(request, url.path):
            continue
        settings: dict[str, object] = {
            "verification.test_path": drafted.line.path,
            "verification.test_method": request.method,
        }
        if request.body:
            settings["verification.test_body"] = request.body
        content_type = request.header("Content-Type")
        if request.body and content_type:
            settings["verification.test_content_type"] = content_type
        return settings
    return None


def _is_line_of(drafted: DraftedLine, request: SeenRequest, url: SeenUrl) -> bool:
    """Whether a line is that of a request, and has its whole path."""
    line = drafted.line
    path = line.path.partition("?")[0]
    is_whole = "{" not in path and url.path.endswith(path)
    return line.method == request.method and is_whole
