"""Reading the operator's policy."""

import re
from dataclasses import fields

from outkey.administration.core.findings.posture import CONFIGURATION_CHECKS, MAX_DAYS
from outkey.administration.core.policy.policy import ChangesPolicy, Policy
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import Environment
from outkey.foundation.core.origin import Location, parse_base_url, parse_proxy_url
from outkey.foundation.core.text import Text
from outkey.foundation.core.toml.parsing import parse_toml
from outkey.sending.core.audit.events import Durability
from outkey.sending.core.configuration.reference import parse_reference
from outkey.sending.core.connections.return_urls import parse_allowed_url
from outkey.sending.core.request.proxy import ProxyPolicy

MAX_POLICY = 64 * 1024
PROXY_KEYS = frozenset({"url", "username", "password", "allowed"})
PROXY_KEYS_TEXT = "url, username, password, allowed"
HOST_AND_PORT = re.compile(r"[^/?#@\s]+:[0-9]{1,5}")
CORRECT_FILE = Text("Correct config/policy.toml.")


def parse_policy(text: str) -> Policy:
    """Read a policy; a key that is unknown is refused, since it may be a demand."""
    try:
        document = parse_toml(text, longest=MAX_POLICY)
    except ConfigError:
        raise ConfigError(
            Text("the policy is not TOML"), field="policy.toml", hint=CORRECT_FILE
        ) from None
    day_keys = sorted(field.name for field in fields(Policy) if field.type is int)
    days: dict[str, int] = {}
    blocking: dict[str, frozenset[str]] = {}
    durability = Durability.PROCESS
    proxy = ProxyPolicy()
    changes = ChangesPolicy()
    token_days: int | None = None
    return_urls: tuple[Location, ...] = ()
    for key, value in document.items():
        if key in day_keys:
            days[key] = parse_days(value, key)
        elif key == "audit":
            durability = _parse_audit(value)
        elif key == "proxy":
            proxy = _parse_proxy(value)
        elif key == "api_tokens":
            token_days = _parse_api_tokens(value)
        elif key == "data":
            changes = ChangesPolicy(_parse_data(value))
        elif key == "connect":
            return_urls = _parse_connect(value)
        elif key in set(Environment):
            blocking[key] = _parse_blocking(value, key)
        else:
            sections = ("api_tokens", "audit", "connect", "data", "proxy", *Environment)
            names = ", ".join([*day_keys, *sections])
            raise ConfigError(
                Text("the policy has an unknown key"),
                field=key,
                hint=Text("Known: {names}.", names=names),
            )
    return Policy(
        **days,
        durability=durability,
        blocking=blocking,
        proxy=proxy,
        changes=changes,
        token_days=token_days,
        return_urls=return_urls,
    )


def _parse_api_tokens(section: object) -> int:
    """Return how many days an API token may be valid, or refuse the section."""
    place = "api_tokens.longest_days"
    if not isinstance(section, dict) or set(section) != {"longest_days"}:
        raise ConfigError(
            Text("the section api_tokens of the policy has one key: longest_days"),
            field=place,
            hint=CORRECT_FILE,
        )
    return parse_days(section["longest_days"], place)


def _parse_data(section: object) -> int:
    """Return for how many days changes are stored, or refuse the section."""
    place = "data.changes_days"
    if not isinstance(section, dict) or set(section) != {"changes_days"}:
        raise ConfigError(
            Text("the section data of the policy has one key: changes_days"),
            field=place,
            hint=CORRECT_FILE,
        )
    return parse_days(section["changes_days"], place)


def _parse_connect(section: object) -> tuple[Location, ...]:
    """Return the URLs that connect links may return to, or refuse the section."""
    place = "connect.return_urls"
    urls = None
    if isinstance(section, dict) and set(section) == {"return_urls"}:
        urls = section["return_urls"]
    if not isinstance(urls, list):
        raise ConfigError(
            Text("the section connect of the policy has one key: return_urls, a list"),
            field=place,
            hint=CORRECT_FILE,
        )
    try:
        return tuple(parse_allowed_url(url, place) for url in urls)
    except ConfigError as error:
        message = Text(
            "{key} of the policy is invalid: {problem}",
            key=place,
            problem=error.message,
        )
        raise ConfigError(message, field=place, hint=CORRECT_FILE) from None


def _parse_audit(section: object) -> Durability:
    """Return the durability of the section about the audit, or refuse the section."""
    place = "audit.durability"
    if not isinstance(section, dict) or set(section) != {"durability"}:
        raise ConfigError(
            Text("the section audit of the policy has one key: durability"),
            field=place,
            hint=CORRECT_FILE,
        )
    return parse_durability(section["durability"], place, hint=CORRECT_FILE)


def _parse_proxy(section: object) -> ProxyPolicy:
    """Return the section about proxies, or refuse it."""
    if not isinstance(section, dict) or not set(section) <= PROXY_KEYS:
        raise _proxy_error("proxy", Text("the keys are {keys}", keys=PROXY_KEYS_TEXT))
    texts = {key: section.get(key, "") for key in ("url", "username", "password")}
    for key, value in texts.items():
        if not isinstance(value, str):
            raise _proxy_error(f"proxy.{key}", Text("it must be text"))
    url, username, password = texts.values()
    if url:
        _refuse_wrong_proxy(url)
    if (username or password) and not (url and username and password):
        message = Text("url, username and password belong together")
        raise _proxy_error("proxy.username", message)
    if ":" in username:
        raise _proxy_error("proxy.username", Text("it must not have a colon"))
    return ProxyPolicy(
        url=url,
        username=username,
        password=(
            parse_reference(password, field="proxy.password") if password else None
        ),
        allowed=_parse_allowed(section["allowed"]) if "allowed" in section else None,
    )


def _refuse_wrong_proxy(url: str) -> None:
    """Refuse a URL that no proxy can have."""
    place = "proxy.url"
    try:
        parse_proxy_url(url, place)
    except ConfigError as error:
        refusal = _proxy_error(place, error.message)
        raise ConfigError(
            refusal.message, field=place, hint=error.hint or refusal.hint
        ) from None


def _parse_allowed(entries: object) -> frozenset[tuple[str, int]]:
    """Return hosts and ports of proxies, or refuse them."""
    place = "proxy.allowed"
    expected = Text('it must be a list such as ["proxy.example:3128"]')
    if not isinstance(entries, list):
        raise _proxy_error(place, expected)
    allowed = set()
    for entry in entries:
        if not isinstance(entry, str) or not HOST_AND_PORT.fullmatch(entry):
            raise _proxy_error(place, expected)
        origin = parse_base_url(f"http://{entry}", place).origin
        allowed.add((origin.host, origin.port))
    return frozenset(allowed)


def _proxy_error(place: str, problem: Text) -> ConfigError:
    """Return the error for the section about proxies."""
    message = Text(
        "{key} of the policy is invalid: {problem}", key=place, problem=problem
    )
    return ConfigError(message, field=place, hint=CORRECT_FILE)


def parse_durability(value: object, place: str, *, hint: Text) -> Durability:
    """Return a level of durability, or refuse it."""
    if not isinstance(value, str) or value not in set(Durability):
        raise ConfigError(
            Text(
                "{key} must be one of: {names}", key=place, names=", ".join(Durability)
            ),
            field=place,
            hint=hint,
        )
    return Durability(value)


def parse_days(value: object, place: str) -> int:
    """Return a number of days, or refuse it."""
    if type(value) is not int or not 1 <= value <= MAX_DAYS:
        raise ConfigError(
            Text(
                "{key} must be a number of days from 1 to {limit}",
                key=place,
                limit=MAX_DAYS,
            ),
            field=place,
            hint=CORRECT_FILE,
        )
    return value


def _parse_blocking(section: object, environment: str) -> frozenset[str]:
    """Return the ids of the checks that block in an environment, or refuse them."""
    place = f"{environment}.blocking"
    ids = None
    if isinstance(section, dict) and len(section) == 1:
        ids = section.get("blocking")
    if not isinstance(ids, list):
        raise ConfigError(
            Text("an environment of the policy has one key: blocking, a list"),
            field=place,
            hint=CORRECT_FILE,
        )
    names = [check.id for check in CONFIGURATION_CHECKS]
    if any(name not in names for name in ids):
        raise ConfigError(
            Text(
                "the policy blocks a check that is unknown or not about configurations"
            ),
            field=place,
            hint=Text("Known: {names}.", names=", ".join(names)),
        )
    return frozenset(ids)
