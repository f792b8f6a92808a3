"""Where the facts of a preset come from: each source, and the facts that it states."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.field_kinds import refuse_unknown_keys
from outkey.foundation.core.text import Text

# What an entry of the catalogue is compared with: `tools/catalogue_claims.py`.
CATALOGUE = "providers.yaml of @nangohq/providers 0.71.10"
# How well a fact is known, the best first.
SURENESS = {
    "documentation": Text("from the provider's documentation"),
    "catalogue": Text("from a public catalogue of providers"),
    "reported": Text("as users report it, not from the provider's documentation"),
}
# What a source can state about a preset.
FACTS = {
    "base_url": Text("Base URL"),
    "authentication": Text("Way to authenticate"),
    "headers": Text("Headers and parameters"),
    "token_url": Text("Token URL"),
    "authorization_url": Text("Authorization URL"),
    "client_auth": Text("Client authentication"),
    "login": Text("Login"),
    "test_path": Text("Test path"),
    "scope": Text("Scope"),
    "lifetime": Text("Token lifetime"),
    "secrets": Text("Where the secrets are"),
    "rotation": Text("Replacing a secret"),
    "notes": Text("Notes"),
}
_KEYS = ["kind", "facts", "at", "entry", "says"]


@dataclass(frozen=True, slots=True)
class Source:
    """A page, an entry of the catalogue, or what was heard without a page."""

    kind: str
    facts: tuple[str, ...]
    says: str
    at: str  # the URL of a page
    entry: str  # of the catalogue

    @property
    def place(self) -> str:
        """Where it can be read, empty for what was heard."""
        return f"{CATALOGUE}: {self.entry}" if self.entry else self.at

    @property
    def line(self) -> str:
        """The source in one line."""
        return f"{self.place}: {self.says}" if self.place else self.says


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact of a preset, how well it is known, and where from."""

    fact: str
    kind: str
    sources: tuple[Source, ...]  # the best first

    @property
    def label(self) -> Text:
        """The fact, as a user reads it."""
        return FACTS[self.fact]

    @property
    def kind_words(self) -> Text:
        """How well it is known, as a user reads it."""
        return SURENESS[self.kind]

    @property
    def best_places(self) -> list[str]:
        """Where the best of its sources can be read, or what was heard."""
        best = (source for source in self.sources if source.kind == self.kind)
        return list(dict.fromkeys(source.place or source.says for source in best))


def read_source(table: Mapping[str, Any]) -> Source:
    """Read one source; a mistake in it is a ConfigError."""
    refuse_unknown_keys(table, _KEYS, "sources.")
    kind = one_of(table["kind"], SURENESS, "sources.kind")
    source = Source(
        kind,
        tuple(one_of(fact, FACTS, "sources.facts") for fact in table["facts"]),
        str(table["says"]),
        str(table.get("at", "")),
        str(table.get("entry", "")),
    )
    if bool(source.entry) != (kind == "catalogue") or (source.entry and source.at):
        raise ConfigError(
            Text("an entry is for a source of the kind catalogue, without a page"),
            field="sources.entry",
        )
    if kind == "documentation" and not source.at:
        raise ConfigError(
            Text("documentation needs the URL of its page"), field="sources.at"
        )
    return source


def stated_facts(tables: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the facts on which the requests of some configurations depend."""
    stated = {fact for table in tables for fact in _facts_of(table)}
    return [fact for fact in FACTS if fact in stated]


def _facts_of(table: Mapping[str, Any]) -> Iterator[str]:
    yield from ("base_url", "authentication")
    oauth2 = table.get("oauth2", {})
    login = table.get("login", {})
    rows = {"headers", "query", "token_header", "token_prefix"} & table.keys()
    if rows or "token_headers" in oauth2:
        yield "headers"
    if "token_url" in oauth2:
        yield "token_url"
    consents = {*oauth2, *table.get("oauth1", {})}
    if {"authorization_url", "device_url"} & consents:
        yield "authorization_url"
    if "client_auth" in oauth2:
        yield "client_auth"
    if login:
        yield "login"
    if "default_lifetime_seconds" in oauth2 or "lifetime_seconds" in login:
        yield "lifetime"
    if table.get("verification", {}).get("test_path", "/") != "/":
        yield "test_path"


def evidence_of(sources: Iterable[Source]) -> list[Evidence]:
    """Return how well each fact is known that the sources state, in the usual order."""
    by_fact: dict[str, list[Source]] = {}
    kinds = list(SURENESS)
    for source in sorted(sources, key=lambda source: kinds.index(source.kind)):
        for fact in source.facts:
            by_fact.setdefault(fact, []).append(source)
    return [
        Evidence(fact, by_fact[fact][0].kind, tuple(by_fact[fact]))
        for fact in FACTS
        if fact in by_fact
    ]


def weakest_kind(evidence: Iterable[Evidence], facts: Iterable[str]) -> str:
    """Return how well that fact is known of which the least is known."""
    by_fact = {item.fact: item.kind for item in evidence}
    kinds = list(SURENESS)
    known = (by_fact.get(fact, kinds[-1]) for fact in facts)
    return max(known, key=kinds.index)


def one_of(value: object, known: Collection[str], key: str) -> str:
    """Return a text that is one of those known."""
    if value not in known:
        raise ConfigError(
            Text("must be one of: {names}", names=", ".join(sorted(known))), field=key
        )
    return str(value)
