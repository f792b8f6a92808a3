"""Dictionaries of dlt's `rest_api`: each resource becomes a line. Nothing is run."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, time
from functools import partial

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.foundation.core.toml.parsing import parse_toml
from outkey.importing.core.auth_types import OAuth2Facts, oauth2_auth, plain_extra
from outkey.importing.core.readers.line_notes import LineNotes
from outkey.importing.core.readers.manifests.common import DescribedLine
from outkey.importing.core.readers.manifests.dlt_resources import (
    ResourceReader,
    parent_names,
)
from outkey.importing.core.readers.manifests.python_literals import read_dictionary
from outkey.importing.core.readers.tree import (
    MAX_TEXT,
    ReadYaml,
    Table,
    read_tree,
    table,
    text_of,
)
from outkey.importing.core.report import ImportReport, shown_name
from outkey.importing.core.seen import (
    Auth,
    KeyAuth,
    PasswordAuth,
    SeenApi,
    TokenAuth,
)

MAX_RESOURCES = 200
MAX_PARTS = 100_000  # of all resources, each with what all of them have
_MAX_LEVELS = 5
_KEYS = frozenset({"client", "resources"})


def is_configuration(tree: Table) -> bool:
    """Whether a tree is a dictionary of `rest_api`, or a project with some."""
    return tree.keys() >= _KEYS or any(_sources(tree))


def _sources(tree: Table) -> Iterator[Table]:
    """Yield the sources of a project that are of the type `rest_api`."""
    for source in table(tree.get("sources")).values():
        if table(source).keys() >= _KEYS:
            yield table(source)


def read_dlt(
    texts: Sequence[str], read_yaml: ReadYaml, report: ImportReport
) -> list[SeenApi]:
    """Return the APIs that dictionaries describe: JSON, YAML, TOML or Python."""
    tree = _tree(texts[0], read_yaml)
    sources = [tree] if tree.keys() >= _KEYS else list(_sources(tree))
    return [DltSource(source, report).api() for source in sources]


def _tree(text: str, read_yaml: ReadYaml) -> Table:
    """Return the first reading of a text that is a dictionary of `rest_api`."""
    for read in (partial(read_tree, read_yaml=read_yaml), _read_toml):
        with suppress(ConfigError):
            tree = read(text)
            if is_configuration(tree):
                return tree
    return read_dictionary(text, _KEYS)


def _read_toml(text: str) -> Table:
    return table(_without_dates(parse_toml(text, longest=MAX_TEXT)))


def _without_dates(value: object) -> object:
    """Return a value with texts for dates and times, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _without_dates(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_without_dates(part) for part in value]
    return value.isoformat() if isinstance(value, date | time) else value


class DltSource:
    """One dictionary: its client, and the resources."""

    def __init__(self, tree: Table, report: ImportReport) -> None:
        self._tree = tree
        self._client = table(tree.get("client"))
        self._report = report
        self._resources: dict[str, DescribedLine] = {}
        self._parts = 0

    def api(self) -> SeenApi:
        """Return the configuration and the lines of all resources."""
        by_name = {
            text_of(resource.get("name")): resource for resource in self._components()
        }
        for name in by_name:
            self._read(name, by_name, level=0)
        return SeenApi(
            [resource.request for resource in self._resources.values()],
            auth=self._auth(),
            base_url=text_of(self._client.get("base_url")).rstrip("/"),
        )

    def _components(self) -> Iterator[Table]:
        """Yield the resources with what all of them have."""
        defaults = table(self._tree.get("resource_defaults"))
        stated = self._tree.get("resources")
        resources = stated if isinstance(stated, list) else []
        for value in resources[:MAX_RESOURCES]:
            own: Table = {"name": value} if isinstance(value, str) else table(value)
            endpoint = own.get("endpoint")
            if isinstance(endpoint, str):
                endpoint = {"path": endpoint}
            component: Table = {
                **defaults,
                **own,
                "endpoint": _merged(table(defaults.get("endpoint")), table(endpoint)),
            }
            self._spend(component)
            yield component

    def _spend(self, value: object) -> None:
        """Count the parts of a resource: defaults of a few lines can make millions."""
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise ConfigError(
                Text("the resources have more than {limit} parts", limit=MAX_PARTS)
            )
        parts = value if isinstance(value, list) else table(value).values()
        for part in parts:
            self._spend(part)

    def _read(
        self, name: str, by_name: Mapping[str, Table], level: int
    ) -> DescribedLine | None:
        """Read a resource after its parent."""
        if name in self._resources or name not in by_name or level > _MAX_LEVELS:
            return self._resources.get(name)
        component = by_name[name]
        parents = parent_names(component)
        parent = self._read(parents[0], by_name, level + 1) if parents else None
        notes = LineNotes(self._report, shown_name("line", name) or "line")
        reader = ResourceReader(notes, self._client, parent)
        if len(parents) > 1:
            why = Text("a line has the records of one other line as parents")
            notes.drop("for_each", why)
        self._resources[name] = reader.read(component)
        return self._resources[name]

    def _auth(self) -> tuple[Auth, ...]:
        """Return the credentials that a user has to enter."""
        value = self._client.get("auth")
        if not value:
            return ()
        settings = table(value)
        kind = text_of(settings.get("type")) or text_of(value) or "bearer"
        credentials: tuple[Auth, ...] = ()
        if kind == "bearer":
            credentials = (TokenAuth(_entered(settings.get("token"))),)
        elif kind == "api_key":
            credentials = (_key(settings),)
        elif kind == "http_basic":
            password = _entered(settings.get("password"))
            username = _entered(settings.get("username"))
            credentials = (PasswordAuth(username, password),)
        elif kind == "oauth2_client_credentials":
            credentials = self._oauth2(settings)
        else:
            self._report.note_dropped("auth", _refusal(value))
        return credentials

    def _oauth2(self, settings: Table) -> tuple[Auth, ...]:
        data = {
            name: text_of(value)
            for name, value in table(settings.get("access_token_request_data")).items()
        }
        data.pop("grant_type", "")
        facts = OAuth2Facts(
            grant="client_credentials",
            token_url=text_of(settings.get("access_token_url")),
            client_id=_entered(settings.get("client_id")),
            client_secret=_entered(settings.get("client_secret")),
            scope=data.pop("scope", ""),
            audience=data.pop("audience", ""),
            extra=plain_extra(data, self._report),
        )
        return oauth2_auth(facts, self._report)


def _refusal(value: object) -> Text:
    """Return why an authentication is not taken over."""
    if isinstance(value, dict):
        return Text("outkey does not have this kind of authentication")
    return Text("it is an object, not a dictionary: choose its type, enter its secrets")


def _key(settings: Table) -> Auth:
    """Return a key in a header, in the query or in a cookie."""
    name = text_of(settings.get("name")) or "Authorization"
    place = text_of(settings.get("location")) or "header"
    place = "query" if place == "param" else place  # two names of dlt for one place
    secret = _entered(settings.get("api_key"))
    if name.lower() == "authorization" and place == "header":
        return TokenAuth(secret, "")
    return KeyAuth(name, secret, place)


def _entered(value: object) -> str:
    """Return a credential, or a variable where it comes from elsewhere."""
    return text_of(value) or "{{credential}}"


def _merged(defaults: Table, own: Table) -> dict[str, object]:
    """Return an endpoint with the parameters of all."""
    params = {**table(defaults.get("params")), **table(own.get("params"))}
    return {**defaults, **own, "params": params}
