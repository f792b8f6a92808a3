"""OpenAPI 3 and Swagger 2: servers, security, a path to test with, and lines.

Only references inside of the document are followed, and each only once on the way.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from urllib.parse import unquote, urljoin

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.paging_words import (
    CURSORS,
    OFFSETS,
    PAGE_NUMBERS,
    SIZES,
)
from outkey.foundation.core.text import Text
from outkey.importing.core.auth_types import OAuth2Facts, oauth2_auth
from outkey.importing.core.readers.openapi_lines import Operation
from outkey.importing.core.readers.openapi_pages import asks_for_changes
from outkey.importing.core.readers.openapi_parents import VARIABLE
from outkey.importing.core.readers.openapi_requests import RequestReader
from outkey.importing.core.readers.openapi_schemas import (
    QueryParameter,
    query_parameters,
)
from outkey.importing.core.readers.tree import EMPTY, Table, rows, table, text_of
from outkey.importing.core.report import ImportReport, shown_name
from outkey.importing.core.seen import (
    Auth,
    KeyAuth,
    PasswordAuth,
    SeenApi,
    TokenAuth,
)

MAX_LINES = 50  # one more is read, so that the report names the limit
MAX_PATHS = 2000
MAX_HOPS = 10
MAX_PARAMETERS = 30
MAX_ALTERNATIVES = 50
_FLOWS = ("clientCredentials", "application", "authorizationCode", "accessCode")
_OTHER_FLOWS = ("deviceAuthorization", "password", "implicit")
_OWN_DATA = re.compile(
    r".*/(?:me|self|whoami|current[_-]?user|account|profile|user|users/me|ping|status)/?",
    re.IGNORECASE,
)
_VARIABLE = re.compile(r"\{([^{}]{1,80})\}")
# OpenAPI 3.0, Parameter Object: these are not parameters.
_OWN_HEADERS = frozenset({"accept", "content-type", "authorization"})
Requirement = list[tuple[str, list[str]]]


def read_openapi(trees: Sequence[Table], report: ImportReport) -> list[SeenApi]:
    """Return the API that a document describes."""
    tree = trees[0]
    reader = OpenApiReader(tree, report)
    base_url = reader.base_url()
    requirements = reader.requirements()
    auth, needs_certificate = reader.choose(requirements, base_url)
    operations = list(reader.read_operations())
    requests = RequestReader(reader.resolve, report, base_url).read(operations)
    api = SeenApi(
        list(islice(requests, MAX_LINES + 1)),
        auth=auth,
        name=text_of(table(tree.get("info")).get("title"))[:100],
        base_url=base_url,
        test_path=test_path(operations),
        secrets={"client_key": ""} if needs_certificate else {},
    )
    return [api]


def test_path(operations: list[Operation]) -> str:
    """Return the path that best shows whether credentials are valid."""
    paths = [
        operation.path
        for operation in operations
        if operation.is_secured
        and not (operation.variables or operation.needs or operation.constants)
    ]
    own_data = [path for path in paths if _OWN_DATA.fullmatch(path)]
    return next(iter((*own_data, *paths)), "")


class OpenApiReader:
    """One description of an API."""

    def __init__(self, tree: Table, report: ImportReport) -> None:
        self._tree = tree
        self._report = report
        self._is_swagger = "swagger" in tree

    def resolve(self, value: object) -> Table:
        """Return a table, behind local references if it is one."""
        visited: set[str] = set()
        target = table(value)
        while "$ref" in target:
            reference = text_of(target["$ref"])
            if (
                not reference.startswith("#/")
                or reference in visited
                or len(visited) > MAX_HOPS
            ):
                self._report.note_dropped(
                    "$ref", Text("only references inside of the document are followed")
                )
                return EMPTY
            visited.add(reference)
            node: object = self._tree
            for part in reference[2:].split("/"):
                key = unquote(part).replace("~1", "/").replace("~0", "~")
                node = table(node).get(key)
            target = table(node)
        return target

    # ── servers ─────────────────────────────────────────────────────────────────────

    def base_url(self) -> str:
        """Return the URL of the first server, its variables filled in."""
        urls = self._swagger_urls() if self._is_swagger else self._server_urls()
        if len(urls) > 1:
            self._report.note_dropped(
                "servers",
                Text("of {count} servers the first was taken", count=len(urls)),
            )
        url = urls[0] if urls else "/"
        if "://" not in url:
            url = f"https://{{{{host}}}}/{url.lstrip('/')}"
        return _VARIABLE.sub(r"{{\1}}", url) if "{{" not in url else url

    def _swagger_urls(self) -> list[str]:
        host = text_of(self._tree.get("host"))
        path = text_of(self._tree.get("basePath"))
        schemes = self._tree.get("schemes")
        names = schemes if isinstance(schemes, list) else []
        scheme = "http" if names and "https" not in names else "https"
        return [f"{scheme}://{host}/{path.lstrip('/')}" if host else path or "/"]

    def _server_urls(self) -> list[str]:
        urls = []
        for server in rows(self._tree.get("servers")):
            variables = table(server.get("variables"))

            def value_of(match: re.Match[str], variables: Table = variables) -> str:
                default = text_of(table(variables.get(match[1])).get("default"))
                self._report.note_changed(
                    shown_name("server variable", match[1]),
                    Text("its default was taken: check Base URL")
                    if default
                    else Text("it has no default: enter Base URL"),
                )
                return default or f"{{{{{match[1]}}}}}"

            urls.append(_VARIABLE.sub(value_of, text_of(server.get("url"))))
        return urls

    # ── security ────────────────────────────────────────────────────────────────────

    def schemes(self) -> Table:
        """Return the security schemes by name."""
        if self._is_swagger:
            return table(self._tree.get("securityDefinitions"))
        return table(table(self._tree.get("components")).get("securitySchemes"))

    def requirements(self) -> list[Requirement]:
        """Return the alternatives: each a list of schemes that are needed together."""
        requirements = _read_requirements(self._tree.get("security"))
        if requirements or "security" in self._tree:
            return requirements
        for _, _, operation in self._operations():
            requirements = _read_requirements(operation.get("security"))
            if any(requirements):
                return requirements
        return [[(name, [])] for name in self.schemes()]

    def choose(
        self, requirements: list[Requirement], base_url: str
    ) -> tuple[tuple[Auth, ...], bool]:
        """Return the best alternative that outkey can do; report the others.

        Also whether it needs a client certificate.
        """
        alternatives = sorted(filter(None, requirements), key=self._rank)
        for number, requirement in enumerate(alternatives):
            auth = self._all_auth(requirement, base_url)
            if auth is None:
                continue
            for other in alternatives[number + 1 :]:
                self._note(other, Text("another alternative was taken"), Level.NOTICE)
            self._report.note_taken(
                self._names(requirement), Text("it became the authentication")
            )
            return auth, self._needs_certificate(requirement)
        return (), False

    def _note(self, requirement: Requirement, why: Text, level: Level) -> None:
        self._report.note_dropped(self._names(requirement), why, level)

    def _names(self, requirement: Requirement) -> str:
        names = [shown_name("", name).strip() or "…" for name, _ in requirement]
        return f"security {' + '.join(names)}"

    def _rank(self, requirement: Requirement) -> int:
        """Return how well an alternative suits programs: lower is better."""
        ranks = {"oauth2": 1, "http": 2, "basic": 2, "apiKey": 0}
        kinds = self._kinds(requirement)
        return max((ranks.get(kind, 3) for kind in kinds), default=9)

    def _all_auth(
        self, requirement: Requirement, base_url: str
    ) -> tuple[Auth, ...] | None:
        credentials: list[Auth] = []
        for name, scopes in requirement:
            scheme = self.resolve(self.schemes().get(name))
            if text_of(scheme.get("type")) == "mutualTLS":
                self._report.note_changed(
                    "mutualTLS", Text("enter the client certificate and its key")
                )
                continue
            auth = self._auth(scheme, scopes, base_url)
            if auth is None:
                why = Text("outkey does not have this kind of authentication")
                self._note([(name, [])], why, Level.WARNING)
                return None
            credentials += auth
        in_header = [auth for auth in credentials if not isinstance(auth, KeyAuth)]
        if len(in_header) > 1:
            why = Text("two of them need the same header")
            self._note(requirement, why, Level.WARNING)
            return None
        return tuple(credentials)

    def _needs_certificate(self, requirement: Requirement) -> bool:
        return "mutualTLS" in self._kinds(requirement)

    def _kinds(self, requirement: Requirement) -> list[str]:
        return [
            text_of(self.resolve(self.schemes().get(name)).get("type"))
            for name, _ in requirement
        ]

    def _auth(
        self, scheme: Table, scopes: list[str], base_url: str
    ) -> tuple[Auth, ...] | None:
        kind = text_of(scheme.get("type"))
        name = text_of(scheme.get("scheme")).lower()
        auth: tuple[Auth, ...] | None = None
        if kind == "basic" or (kind, name) == ("http", "basic"):
            auth = (PasswordAuth("", None),)
        elif (kind, name) == ("http", "digest"):
            auth = (PasswordAuth("", None, is_digest=True),)
        elif (kind, name) == ("http", "bearer"):
            auth = (TokenAuth(""),)
        elif kind == "apiKey":
            auth = self._key(scheme)
        elif kind == "oauth2":
            auth = self._oauth2(scheme, scopes, base_url)
        elif kind == "openIdConnect":
            auth = self._open_id(scheme, scopes)
        return auth

    def _key(self, scheme: Table) -> tuple[Auth, ...]:
        name = text_of(scheme.get("name"))
        place = text_of(scheme.get("in"))
        if name.lower() != "authorization":
            return (KeyAuth(name, "", place),)
        self._report.note_changed(
            "Authorization",
            Text(
                "the document does not state what stands before the key: check Token"
                " prefix"
            ),
        )
        return (TokenAuth("", ""),)

    def _oauth2(
        self, scheme: Table, scopes: list[str], base_url: str
    ) -> tuple[Auth, ...] | None:
        flows = table(scheme.get("flows"))
        if self._is_swagger:
            flows = {text_of(scheme.get("flow")): scheme}
        for name in (*_FLOWS, *_OTHER_FLOWS):
            if name in flows:
                flow = table(flows[name])
                break
        else:
            return None
        others = [shown_name("flow", other) for other in flows if other != name]
        for other in others:
            self._report.note_dropped(
                other, Text("another flow was taken"), Level.NOTICE
            )
        possible_scopes = table(flow.get("scopes"))
        if possible_scopes:
            scopes = [scope for scope in scopes if scope in possible_scopes]
        if possible_scopes and not scopes:
            self._report.note_changed(
                "scopes",
                Text(
                    "{count} are possible: enter those you need",
                    count=len(possible_scopes),
                ),
            )
        facts = OAuth2Facts(
            grant=name,
            token_url=absolute(base_url, text_of(flow.get("tokenUrl"))),
            authorization_url=absolute(base_url, text_of(flow.get("authorizationUrl"))),
            device_url=absolute(base_url, text_of(flow.get("deviceAuthorizationUrl"))),
            refresh_url=absolute(base_url, text_of(flow.get("refreshUrl"))),
            scope=" ".join(scopes),
        )
        if name not in _OTHER_FLOWS:
            self._report.note_changed(
                "client authentication",
                Text(
                    "the document does not state how: in the body, else try HTTP Basic"
                ),
                Level.NOTICE,
            )
        return oauth2_auth(facts, self._report)

    def _open_id(self, scheme: Table, scopes: list[str]) -> tuple[Auth, ...]:
        url = text_of(scheme.get("openIdConnectUrl"))
        issuer = url.partition("/.well-known/")[0]
        self._report.note_changed(
            "openIdConnect",
            Text("fill in the URLs from the issuer on the configuration's page"),
        )
        facts = OAuth2Facts(
            grant="client_credentials", issuer=issuer, scope=" ".join(scopes)
        )
        return oauth2_auth(facts, self._report)

    # ── paths ───────────────────────────────────────────────────────────────────────

    def _operations(self) -> Iterator[tuple[str, list[Table], Table]]:
        """Yield path, shared parameters and operation of each GET."""
        for path, value in list(table(self._tree.get("paths")).items())[:MAX_PATHS]:
            item = self.resolve(value)
            if isinstance(item.get("get"), dict):
                yield path, _first_rows(item), table(item["get"])

    def read_operations(self) -> Iterator[Operation]:
        """Yield the operations, with the parameters that they need."""
        is_secured_by_default = any(_read_requirements(self._tree.get("security")))
        is_unstated = not self._states_security()
        for path, shared, operation in self._operations():
            if not path.startswith("/"):
                continue
            parameters = [*shared, *_first_rows(operation)]
            query = tuple(query_parameters(parameters, self.resolve))
            constants = {
                parameter.name: parameter.constant
                for parameter in query
                if parameter.is_required
                and parameter.constant
                and not _is_of_line(parameter)
            }
            needs = [
                parameter.name
                for parameter in query
                if parameter.is_required
                and parameter.name not in constants
                and not _is_of_line(parameter)
            ]
            is_secured = is_secured_by_default
            if "security" in operation:
                is_secured = any(_read_requirements(operation.get("security")))
            yield Operation(
                path,
                text_of(operation.get("operationId"))[:80],
                is_secured=is_secured or is_unstated,
                variables=tuple(VARIABLE.findall(path)),
                needs=(*self._needed_headers(parameters), *needs),
                query=query,
                constants=constants,
                description=operation,
            )

    def _needed_headers(self, parameters: Sequence[Table]) -> Iterator[str]:
        """Yield the headers and cookies of an operation that only a user knows."""
        schemes = [self.resolve(scheme) for scheme in self.schemes().values()]
        credentials = {text_of(scheme.get("name")).lower() for scheme in schemes}
        for value in parameters:
            parameter = self.resolve(value)
            name = text_of(parameter.get("name"))
            if (
                parameter.get("in") in {"header", "cookie"}
                and text_of(parameter.get("required")) == "true"
                and name.lower() not in _OWN_HEADERS | credentials
            ):
                yield name

    def _states_security(self) -> bool:
        has_any = any("security" in operation for _, _, operation in self._operations())
        return has_any or "security" in self._tree


def _is_of_line(parameter: QueryParameter) -> bool:
    """Whether a line sends a parameter by itself: of pages, or of changes."""
    is_of_pages = parameter.lower in PAGE_NUMBERS | OFFSETS | CURSORS | SIZES
    return is_of_pages or asks_for_changes(parameter.name)


def _first_rows(item: Table) -> list[Table]:
    """Return the first parameters of a path or an operation."""
    return list(islice(rows(item.get("parameters")), MAX_PARAMETERS))


def _read_requirements(value: object) -> list[Requirement]:
    """Return the alternatives of a `security` list."""
    return [
        [
            (name, [text_of(scope) for scope in scopes])
            for name, scopes in row.items()
            if isinstance(scopes, list)
        ]
        for row in islice(rows(value), MAX_ALTERNATIVES)
    ]


def absolute(base_url: str, url: str) -> str:
    """Return a URL that may be relative to the server's."""
    if not url or "://" in url or "{{" in base_url:
        return url if "://" in url else ""
    try:
        return urljoin(base_url.rstrip("/") + "/", url)
    except ValueError:
        raise ConfigError(Text("a URL of the document is invalid")) from None
