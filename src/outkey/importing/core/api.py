"""One API of an import: its requests and credentials made into a configuration."""

import re
from collections.abc import Iterable, Sequence

from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.text import Text
from outkey.importing.core.authorization import authorization, encoded_pair
from outkey.importing.core.drafted_lines import (
    MAX_LINES,
    DraftedLine,
    LineDrafter,
    path_below,
    readable_name,
)
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

MAX_HEADERS = 200
_OF_CLIENTS = re.compile(
    r"sec-.*|accept-encoding|priority|pragma|cache-control|dnt|if-.*"
    r"|upgrade-insecure-requests|x-client-data|:.*|postman-token",
    re.IGNORECASE,
)


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
        credentials = _with_token_source(credentials, token_sources[0])
    _add_credentials(drafter, credentials)
    _add_stated_secrets(drafter, api)
    login = next((auth for auth in credentials if isinstance(auth, LoginAuth)), None)
    logins = [split_url(login.url)] if login else []
    _add_credential_parameters(drafter, [*urls, *logins])
    origin, path = _set_location(drafter, api, urls, login)
    has_secret_body = _note_secret_bodies(requests, report)
    if not (has_secret_body or any(_has_secret_segment(url.path) for url in urls)):
        drafter.set_reason()  # else it has a credential, which has no field here
    name = _name_for(api, origin, name, taken)
    pairs = list(zip(requests, urls, strict=True))
    lines = list(LineDrafter(name, origin, path, report).lines(pairs))
    _set_test(drafter, api, lines, pairs)
    return drafter.finish(name), lines


def _with_token_source(credentials: Iterable[Auth], source: Auth) -> list[Auth]:
    """Return credentials whose token is obtained by a request that was seen.

    The token of another pasted request is one that such a request obtained.
    """
    others = [a for a in credentials if not isinstance(a, TokenAuth | PasswordAuth)]
    return [*others, source]


def _add_stated_secrets(drafter: Drafter, api: SeenApi) -> None:
    """Add the secrets and the files of secrets that an API states by their names."""
    for name, text in api.secrets.items():
        drafter.add_secret(name, text, name.replace("_", " "))
    for name, file in api.files.items():
        drafter.add_file(name, file)


def _name_for(api: SeenApi, origin: str, name: str, taken: set[str]) -> str:
    """Return the wanted name, or that of the API or its host; one that is free."""
    if name:
        BY_PATH["name"].parse(name)
    host = name_of_host(split_url(origin).host)
    return unique(name or readable_name(api.name) or host, taken)


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
        path = path_below(base.path, "", drafter.report).rstrip("/")
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
        below = path_below(login_url.path, path, drafter.report)
        drafter.values["login.path"] = f"{below}?{query}" if query else below
    drafter.set_base_url(base.origin, path, is_unknown=base.unknown_host)
    return base.origin, path


def _has_secret_segment(path: str) -> bool:
    """Whether a part of a path looks like a credential."""
    return any(map(is_secret_segment, path.split("/")))


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
