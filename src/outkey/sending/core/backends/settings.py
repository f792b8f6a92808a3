"""The operator's backends: where external stores are, and how outkey logs in to them.

A table for each store says which keys its section may have.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import NamedTuple

from outkey.foundation.core.errors import BackendUnknown, BlockedByPolicy, ConfigError
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.origin import Location, parse_base_url
from outkey.foundation.core.text import Text
from outkey.foundation.core.toml.parsing import parse_toml
from outkey.sending.core.configuration.reference import (
    LOCAL,
    Reference,
    Store,
    StorePlace,
    is_reference,
    parse_place,
    parse_reference,
)

FILE_NAME = "backends.toml"
_LONGEST_FILE = 64 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_CORRECT = Text("Correct config/backends.toml.")


class StoreKind(StrEnum):
    """The product that a backend is."""

    VAULT = "vault"
    AWS = "aws"
    AZURE = "azure"
    GCP = "gcp"
    OP = "op"


KIND_OF = {
    Store.VAULT: StoreKind.VAULT,
    Store.AWS_SECRET: StoreKind.AWS,
    Store.AWS_PARAMETER: StoreKind.AWS,
    Store.AZURE_SECRET: StoreKind.AZURE,
    Store.GCP_SECRET: StoreKind.GCP,
    Store.OP: StoreKind.OP,
}


class LoginKeys(NamedTuple):
    """The keys that a way to log in needs, and those that it may have.

    Those of `secrets` must be references; all others may be.
    """

    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    secrets: frozenset[str] = frozenset()


class SectionKeys(NamedTuple):
    """The keys of a store's section, besides those that all have."""

    logins: Mapping[str, LoginKeys]  # the first is the default
    texts: Mapping[str, str | None]  # with their defaults; None: must be given
    default_address: str | None = None  # None: must be given


SECTION_KEYS: Mapping[StoreKind, SectionKeys] = {
    StoreKind.VAULT: SectionKeys(
        {
            "token": LoginKeys(("token",), secrets=frozenset({"token"})),
            "approle": LoginKeys(
                ("role_id", "secret_id"), secrets=frozenset({"secret_id"})
            ),
            "kubernetes": LoginKeys(("role", "jwt"), secrets=frozenset({"jwt"})),
            "jwt": LoginKeys(("role", "jwt"), secrets=frozenset({"jwt"})),
        },
        {"namespace": "", "mount": "secret", "login_mount": ""},
    ),
    StoreKind.AWS: SectionKeys(
        {
            "keys": LoginKeys(
                ("access_key_id", "secret_access_key"),
                ("session_token",),
                frozenset({"secret_access_key", "session_token"}),
            ),
            "web_identity": LoginKeys(
                ("role_arn", "web_identity_token"),
                secrets=frozenset({"web_identity_token"}),
            ),
        },
        {"region": None},
        "",
    ),
    StoreKind.AZURE: SectionKeys(
        {
            "client_secret": LoginKeys(
                ("tenant_id", "client_id", "client_secret"),
                secrets=frozenset({"client_secret"}),
            ),
            "federated_token": LoginKeys(
                ("tenant_id", "client_id", "federated_token"),
                secrets=frozenset({"federated_token"}),
            ),
        },
        {"authority": "https://login.microsoftonline.com"},
    ),
    StoreKind.GCP: SectionKeys(
        {
            "service_account": LoginKeys(
                ("service_account",), secrets=frozenset({"service_account"})
            )
        },
        {"project": None},
        "https://secretmanager.googleapis.com",
    ),
    StoreKind.OP: SectionKeys(
        {"token": LoginKeys(("token",), secrets=frozenset({"token"}))}, {}
    ),
}
# Whole numbers with the smallest, the greatest and the default value.
_NUMBERS = {
    "cache_seconds": (0, 3600, 60),
    "stale_seconds": (0, 86400, 0),
    "timeout_seconds": (1, 60, 10),
}
_COMMON = frozenset(
    {
        "store",
        "address",
        "network",
        "ca_file",
        "login",
        "paths",
        "probe",
        "private",
        *_NUMBERS,
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class Backend:
    """One external store, as the operator has described it.

    It is equal to itself only: what was read with settings that have changed since is
    not used any more.
    """

    name: str
    store: StoreKind
    address: Location | None  # None: that of the store's region
    network: Network
    ca_file: str
    login: str
    credentials: tuple[tuple[str, Reference | str], ...]
    texts: tuple[tuple[str, str], ...]
    kv: int
    paths: tuple[str, ...]
    probe: str
    private: bool
    cache_seconds: int
    stale_seconds: int
    timeout_seconds: int

    def text(self, key: str) -> str:
        """Return a setting of this store, such as the mount."""
        return dict(self.texts)[key]

    def allows(self, path: str) -> bool:
        """Whether references may name this path."""
        return not self.paths or any(
            fnmatchcase(path, pattern) for pattern in self.paths
        )

    @property
    def shown_address(self) -> str:
        """The address as `backend list` prints it."""
        return str(self.address) if self.address else self.text("region")


@dataclass(frozen=True, slots=True)
class Backends:
    """All backends of an installation."""

    by_name: Mapping[str, Backend]

    def find(self, reference: Reference, field: str) -> tuple[Backend, StorePlace]:
        """Return the backend of a reference and the place in it, or refuse it."""
        place = parse_place(reference, field=field)
        kind = KIND_OF[reference.store]
        backends = {
            name: backend
            for name, backend in self.by_name.items()
            if backend.store is kind
        }
        first, *rest = place.segments
        if rest and first in backends:
            backend = backends[first]
            place = StorePlace(tuple(rest), place.field, place.version)
        elif len(backends) == 1:
            [backend] = backends.values()
        else:
            raise BackendUnknown(field=field)
        if not backend.allows(place.path):
            raise BlockedByPolicy(
                Text(
                    "the backend {backend} does not allow references to this path",
                    backend=backend.name,
                ),
                hint=Text(
                    "An operator lists the paths in config/backends.toml, as paths."
                ),
                field=field,
            )
        return backend, place

    def named(self, name: str) -> Backend:
        """Return the backend of this name, or raise BackendUnknown."""
        if name not in self.by_name:
            raise BackendUnknown(
                Text("there is no backend with this name"),
                hint=Text("See: outkey backend list"),
                field="backend",
            )
        return self.by_name[name]


NO_BACKENDS = Backends({})


def parse_backends(text: str) -> Backends:
    """Read the operator's file; what is unknown in it is refused."""
    try:
        document = parse_toml(text, longest=_LONGEST_FILE)
    except ConfigError:
        raise _file_error(FILE_NAME, Text("it is not TOML")) from None
    sections = document.get("backend", {})
    if set(document) - {"backend"} or not isinstance(sections, dict):
        raise _file_error(
            FILE_NAME, Text("it may have sections [backend.NAME] and nothing else")
        )
    return Backends(
        {name: _parse_backend(name, part) for name, part in sections.items()}
    )


def _parse_backend(name: str, section: object) -> Backend:
    place = f"backend.{name}"
    if not _NAME.fullmatch(name) or not isinstance(section, dict):
        raise _file_error(
            "backend", Text("a name has letters, digits, hyphens and underscores")
        )
    kind = section.get("store")
    if not isinstance(kind, str) or kind not in set(StoreKind):
        raise _choice_error(f"{place}.store", StoreKind)
    store = StoreKind(kind)
    keys = SECTION_KEYS[store]
    login = _parse_login(section, place, keys)
    login_keys = keys.logins[login]
    of_vault = {"kv"} if store is StoreKind.VAULT else set()
    of_login = {*login_keys.needed, *login_keys.optional}
    _refuse_unknown_keys(section, place, {*_COMMON, *keys.texts, *of_login, *of_vault})
    numbers = {
        key: _parse_number(section, place, key, limits)
        for key, limits in _NUMBERS.items()
    }
    return Backend(
        name=name,
        store=store,
        address=_parse_address(section, place, keys),
        network=_parse_network(section, place),
        ca_file=_parse_ca_file(section, place),
        login=login,
        credentials=_parse_credentials(section, place, login_keys),
        texts=tuple(
            (key, _parse_text(section, place, key, default))
            for key, default in keys.texts.items()
        ),
        kv=_parse_kv(section, place),
        paths=_parse_paths(section, place),
        probe=_parse_text(section, place, "probe", ""),
        private=_parse_private(section, place),
        **numbers,
    )


def _refuse_unknown_keys(
    section: Mapping[str, object], place: str, known: set[str]
) -> None:
    if set(section) - known:
        # Not repeated: the text of a key could be a secret that was pasted there.
        problem = Text(
            "it has a key that this store or log-in does not have; known: {names}",
            names=", ".join(sorted(known)),
        )
        raise _file_error(place, problem)


def _parse_login(section: Mapping[str, object], place: str, keys: SectionKeys) -> str:
    login = section.get("login", _default_login(keys, section))
    if not isinstance(login, str) or login not in keys.logins:
        raise _choice_error(f"{place}.login", keys.logins)
    return login


def _default_login(keys: SectionKeys, section: Mapping[str, object]) -> str:
    """Return the way to log in whose keys a section has."""
    complete = (
        name
        for name, login in keys.logins.items()
        if all(key in section for key in login.needed)
    )
    return next(complete, next(iter(keys.logins)))


def _parse_text(
    section: Mapping[str, object], place: str, key: str, default: str | None
) -> str:
    value = section.get(key, default)
    if value is None or (default is None and not value):
        raise _file_error(f"{place}.{key}", Text("it is missing"))
    if not isinstance(value, str) or not value.isprintable():
        raise _file_error(f"{place}.{key}", Text("it must be a text of one line"))
    return value


def _parse_kv(section: Mapping[str, object], place: str) -> int:
    value = section.get("kv", 2)
    if type(value) is not int or value not in {1, 2}:
        raise _file_error(f"{place}.kv", Text("it must be 1 or 2"))
    return value


def _parse_private(section: Mapping[str, object], place: str) -> bool:
    value = section.get("private", False)
    if not isinstance(value, bool):
        raise _file_error(f"{place}.private", Text("it must be true or false"))
    return value


def _parse_number(
    section: Mapping[str, object], place: str, key: str, limits: tuple[int, int, int]
) -> int:
    least, most, default = limits
    value = section.get(key, default)
    if type(value) is not int or not least <= value <= most:
        raise _file_error(
            f"{place}.{key}",
            Text(
                "it must be a whole number from {least} to {most}",
                least=least,
                most=most,
            ),
        )
    return value


def _parse_address(
    section: Mapping[str, object], place: str, keys: SectionKeys
) -> Location | None:
    key = f"{place}.address"
    text = _parse_text(section, place, "address", keys.default_address)
    if not text:
        return None
    try:
        return parse_base_url(text, key)
    except ConfigError as error:
        raise _file_error(key, error.message) from None


def _parse_network(section: Mapping[str, object], place: str) -> Network:
    value = section.get("network", str(Network.PUBLIC))
    if not isinstance(value, str) or value not in set(Network):
        raise _choice_error(f"{place}.network", Network)
    return Network(value)


def _parse_ca_file(section: Mapping[str, object], place: str) -> str:
    path = _parse_text(section, place, "ca_file", "")
    if path and not path.startswith("/"):
        raise _file_error(f"{place}.ca_file", Text("it must be an absolute path"))
    return path


def _parse_paths(section: Mapping[str, object], place: str) -> tuple[str, ...]:
    value = section.get("paths", [])
    is_list = isinstance(value, list) and all(
        isinstance(pattern, str) and pattern for pattern in value
    )
    if not is_list or ("paths" in section and not value):
        raise _file_error(
            f"{place}.paths", Text('it must be a list such as ["outkey/*"]')
        )
    assert isinstance(value, list)  # noqa: S101 - for the type checker
    return tuple(value)


def _parse_credentials(
    section: Mapping[str, object], place: str, login: LoginKeys
) -> tuple[tuple[str, Reference | str], ...]:
    given = [key for key in login.optional if key in section]
    return tuple(
        (key, _parse_credential(section, place, key, is_secret=key in login.secrets))
        for key in (*login.needed, *given)
    )


def _parse_credential(
    section: Mapping[str, object], place: str, key: str, *, is_secret: bool
) -> Reference | str:
    text = _parse_text(section, place, key, None)
    if not is_secret and not is_reference(text):
        return text
    try:
        reference = parse_reference(text, field=f"{place}.{key}")
    except ConfigError as error:
        raise _file_error(f"{place}.{key}", error.message) from None
    if reference.store not in LOCAL:
        raise _file_error(
            f"{place}.{key}",
            Text("it must be a reference of env:, file: or credential:"),
        )
    return reference


def _choice_error(
    place: str, names: Mapping[str, object] | type[StrEnum]
) -> ConfigError:
    return _file_error(
        place, Text("it must be one of: {names}", names=", ".join(map(str, names)))
    )


def _file_error(place: str, problem: Text) -> ConfigError:
    """Return the error for the operator's file; it repeats no value."""
    message = Text(
        "{key} of the backends is invalid: {problem}", key=place, problem=problem
    )
    return ConfigError(message, field=place, hint=_CORRECT)
