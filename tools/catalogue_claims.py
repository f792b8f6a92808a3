"""Whether a public catalogue of APIs has what presets say that it has.

Run `.venv/bin/python tools/catalogue_claims.py PATH/providers.yaml`. With `--record`,
it writes the facts that the presets have from the catalogue to `RECORD`, with which
the tests compare the presets, since the catalogue is not part of the checkout.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from catalogue import read_catalogue

from outkey.administration.adapters.preset_files import PresetFiles
from outkey.administration.core.presets.presets import Preset, fill_tree

RECORD = Path(__file__).parents[1] / "tests" / "unit" / "catalogue_facts.json"
VARIABLE = re.compile(r"\$?\{[^{}]*(?:\{[^{}]*\})?[^{}]*\}")
# URLs of servers of one's own, about which a catalogue states nothing.
UNKNOWN_HOSTS = frozenset({"", "*", "https://*"})
URL_FACTS = ("base_url", "test_path", "token_url", "authorization_url")
USUAL_HEADERS = frozenset({"authorization", "accept", "content-type"})
BASIC = "basic"

Table = Mapping[str, Any]


def catalogue_facts(entry: Table) -> dict[str, list[str]]:
    """Return the facts of an entry by name, with its variables as `*`."""
    proxy = entry.get("proxy") or {}
    bases = urls_in(proxy.get("base_url"))
    endpoints = (proxy.get("verification") or {}).get("endpoints") or []
    facts = {
        "base_url": [url for url in bases if url not in UNKNOWN_HOSTS],
        "test_path": [join(base, path) for base in bases for path in texts(endpoints)],
        "token_url": urls_in(entry.get("token_url")),
        "authorization_url": urls_in(entry.get("authorization_url")),
        "headers": headers_in(proxy),
        "authentication": [authentication_in(entry)],
    }
    if entry["auth_mode"] in {"OAUTH2", "OAUTH2_CC"}:
        facts["client_auth"] = [client_auth_in(entry)]
    return {name: values for name, values in facts.items() if any(values)}


def configuration_facts(table: Table) -> dict[str, list[str]]:
    """Return the facts of a configuration that a catalogue can have."""
    base = str(table["base_url"])
    oauth2 = table.get("oauth2", {})
    rows = [*table.get("headers", ()), *table.get("query", ())]
    path = table.get("verification", {}).get("test_path", "/")
    consent = oauth2.get("authorization_url") or oauth2.get("device_url")
    facts = {
        "base_url": urls_in(base),
        "test_path": [] if path == "/" else [join(base, path)],
        "token_url": urls_in(oauth2.get("token_url")),
        "authorization_url": urls_in(consent),
        "headers": telling_names(
            texts([*(row["key"] for row in rows), table.get("token_header")])
        ),
        "authentication": [authentication_of(table)],
        "client_auth": texts([oauth2.get("client_auth")]),
    }
    return {name: values for name, values in facts.items() if any(values)}


def filled_tables(preset: Preset) -> Iterator[Table]:
    """Yield the configurations of a preset, with the examples of its variables."""
    values = {name: variable.example for name, variable in preset.variables.items()}
    for method in preset.methods.values():
        yield fill_tree(method.table, values)


def authentication_of(table: Table) -> str:
    """Return how a configuration authenticates, as a catalogue would name it."""
    oauth2 = table.get("oauth2", {})
    if table.get("token_source") == "oauth2":
        return str(oauth2["grant"]).replace("device_code", "authorization_code")
    if "login" in table:
        return "login"
    kind = str(table.get("authentication_type", "none"))
    return "key" if kind in {"none", "bearer"} else kind


def authentication_in(entry: Table) -> str:
    """Return how an entry authenticates."""
    by_mode = {
        "OAUTH2": "authorization_code",
        "OAUTH2_CC": "client_credentials",
        "BASIC": BASIC,
        "TWO_STEP": "login",
        "API_KEY": "key",
        "TBA": "oauth1",
        "OAUTH1": "oauth1",
    }
    mode = by_mode.get(entry["auth_mode"], "")
    headers = str((entry.get("proxy") or {}).get("headers"))
    if "awsSigV4(" in headers:
        return "aws_sigv4"
    is_basic = mode == "key" and "base64" in headers
    return BASIC if is_basic else mode


def client_auth_in(entry: Table) -> str:
    """Return where the client secret goes, if an entry states it."""
    asked = entry.get("token_request_auth_method") or entry.get("authorization_method")
    return BASIC if asked in {"basic", "header"} else ""


def headers_in(proxy: Table) -> list[str]:
    """Return the names of headers and parameters of the requests to the API."""
    names = [*(proxy.get("headers") or {}), *(proxy.get("query") or {})]
    return telling_names(map(str, names))


def telling_names(names: Iterable[str]) -> list[str]:
    """Return the names of headers that an API does not share with most others."""
    return [name.lower() for name in names if name.lower() not in USUAL_HEADERS]


def urls_in(value: object) -> list[str]:
    """Return the URLs of a value, of which a catalogue may have alternatives."""
    if not isinstance(value, str):
        return []
    return [masked(url) for url in value.split(" || ")]


def masked(url: str) -> str:
    """Return a URL with its variables as `*`, without its query."""
    return VARIABLE.sub("*", url.strip()).partition("?")[0].rstrip("/").lower()


def join(base: str, path: str) -> str:
    """Return a URL below another one."""
    return masked(f"{base.rstrip('/')}/{path.lstrip('/')}")


def texts(values: Iterable[object]) -> list[str]:
    """Return the texts of some values."""
    return [value for value in values if isinstance(value, str)]


def shared_facts(table: Table, entry: Table) -> dict[str, list[str]]:
    """Return the facts of an entry that a configuration has too.

    An entry without any of its URLs is about another API.
    """
    own = configuration_facts(table)
    shared = {
        name: [text for text in values if agrees(name, text, own.get(name, ()))]
        for name, values in catalogue_facts(entry).items()
    }
    if not any(shared.get(name) for name in URL_FACTS):
        return {}
    return {name: values for name, values in shared.items() if values}


def agrees(fact: str, text: str, values: Iterable[str]) -> bool:
    """Whether one of the values is what a catalogue has, where `*` stands for anything.

    A Base URL may also be below that of the catalogue, which often lacks the version.
    """
    pattern = "[^/]+".join(re.escape(part) for part in text.split("*"))
    if fact == "base_url":
        pattern += "(/.*)?"
    return any(re.fullmatch(pattern, value) for value in values)


def claims(preset: Preset) -> Iterator[tuple[str, str]]:
    """Yield the entries and facts that a preset says it has from the catalogue."""
    for source in preset.sources:
        if source.entry:
            yield from ((source.entry, fact) for fact in source.facts)


def recorded_facts(
    catalogue: Mapping[str, Table], presets: Iterable[Preset]
) -> tuple[dict[str, dict[str, list[str]]], list[str]]:
    """Return the facts that are claimed, by preset and entry, and the false claims."""
    record: dict[str, dict[str, list[str]]] = {}
    false = []
    for preset in presets:
        for entry, fact in claims(preset):
            values = {
                value
                for table in filled_tables(preset)
                if entry in catalogue
                for value in shared_facts(table, catalogue[entry]).get(fact, ())
            }
            if values:
                facts = record.setdefault(f"{preset.name} {entry}", {})
                facts[fact] = sorted(values)
            else:
                false.append(f"{preset.name}: {entry} does not have {fact}")
    return record, false


def main() -> int:
    """Print the false claims; without any, the exit code is 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="providers.yaml")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    options = parser.parse_args()
    record, false = recorded_facts(read_catalogue(options.path), PresetFiles().all())
    for line in false:
        print(line)
    if options.record:
        text = json.dumps(record, indent=1, sort_keys=True)
        RECORD.write_text(f"{text}\n", "utf-8")
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
