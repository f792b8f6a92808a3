"""How much of a public catalogue of APIs the fields of a configuration express.

Run `.venv/bin/python tools/catalogue_share.py PATH/providers.yaml`. It applies rules to
the entries and sends nothing, so that the shares are an upper bound.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from catalogue import origin_of, read_catalogue

STAGES = ("0.2.0", "with more ways to authenticate", "and with connections")
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SAML_BEARER = "urn:ietf:params:oauth:grant-type:saml2-bearer"
OWN_MODES = frozenset({"APP", "CUSTOM", "BILL", "INSTALL_PLUGIN"})
# What every client sends by itself.
USUAL_HEADERS = frozenset({"content-type", "accept"})
STEP_RESULT = re.compile(r"\$\{step[0-9]+\.")
COMPUTED = re.compile(r"\$\{(?:random|now|sha|hmac|md5)", re.IGNORECASE)
SIGNED = re.compile(r"\$\{(?:random|sha|hmac)", re.IGNORECASE)
TOKEN_INSIDE = re.compile(r"\$\{base64\([^)]*(?:accessToken|credentials\.token)")
CREDENTIALS_INSIDE = re.compile(r"\$\{base64\([^)]*\+\$\{")

Entry = Mapping[str, Any]


class Level(IntEnum):
    """How well an entry is expressed."""

    EXPRESSED = 0
    REMARK = 1  # with something to do by hand, or by a script
    LACKING = 2


class Rule(NamedTuple):
    """Something that an entry needs, and how well each stage expresses it."""

    need: str
    levels: tuple[Level, Level, Level]
    applies: Callable[[Entry], bool]


YES, REMARK, NO = Level
NEVER = (NO, NO, NO)
BY_HAND = (REMARK, REMARK, REMARK)
NEW = (NO, YES, YES)


def mode(entry: Entry) -> str:
    """Return the way to authenticate, as the catalogue names it."""
    return str(entry["auth_mode"])


def proxy_text(entry: Entry, *keys: str) -> str:
    """Return parts of the requests to the API, as a text to search."""
    proxy = entry.get("proxy") or {}
    return json.dumps({key: proxy.get(key) for key in keys})


def base_origin(entry: Entry) -> str:
    """Return the origin of the API."""
    return origin_of((entry.get("proxy") or {}).get("base_url", ""))


def grant(entry: Entry) -> str:
    """Return the grant of a request for a token that is in the style of OAuth 2.0."""
    return str((entry.get("token_params") or {}).get("grant_type", ""))


def is_two_step(entry: Entry) -> bool:
    """Whether a token is requested first, in OAuth 2.0's way or another."""
    return mode(entry) == "TWO_STEP"


def is_login(entry: Entry) -> bool:
    """Whether the request for a token is none of OAuth 2.0."""
    standard = {"client_credentials", "password", "refresh_token"}
    standard |= {JWT_BEARER, SAML_BEARER}
    is_grant = grant(entry) in standard or "grant_type=" in str(entry.get("token_url"))
    return is_two_step(entry) and not is_grant


def steps(entry: Entry) -> list[Entry]:
    """Return the steps of a login."""
    return [entry, *entry.get("additional_steps", [])]


def token_headers(entry: Entry) -> dict[str, str]:
    """Return the headers of the requests for a token that not every client sends."""
    return {
        name.lower(): str(value)
        for step in steps(entry)
        for name, value in (step.get("token_headers") or {}).items()
        if name.lower() not in USUAL_HEADERS
    }


def has_own_token_headers(entry: Entry) -> bool:
    """Whether a request for a token has a header that requests to the API lack."""
    in_api = {name.lower() for name in (entry["proxy"].get("headers") or {})}
    names = {*token_headers(entry)} - {"authorization"}
    if is_login(entry):
        names -= in_api  # since the header rows go to the login too
    return bool(names)


def authorizes_login(entry: Entry) -> bool:
    """Whether a login has an Authorization header that needs no encoding."""
    header = token_headers(entry).get("authorization", "")
    return is_login(entry) and header.startswith("Bearer ")


def authorizes_encoded(entry: Entry) -> bool:
    """Whether a request for a token has credentials that only a user can encode."""
    header = token_headers(entry).get("authorization", "")
    if not is_two_step(entry) or "base64" not in header:
        return False
    return is_login(entry) or not header.startswith("Basic ")


def asks_with_computed_values(entry: Entry) -> bool:
    """Whether a request for a token has a signature, the time, or a random value."""
    if not is_two_step(entry):
        return False
    asked = json.dumps([entry.get("token_params"), token_headers(entry)])
    return COMPUTED.search(asked) is not None


def has_renewal_elsewhere(entry: Entry) -> bool:
    """Whether a refresh token goes to another URL than the first request."""
    url = str(entry.get("refresh_url", "")).partition("?")[0]
    first = str(entry.get("token_url", "")).partition("?")[0]
    if not url or url == first or renews_in_own_way(entry):
        return False
    return not is_login(entry) or origin_of(url) != origin_of(first)


def renews_in_own_way(entry: Entry) -> bool:
    """Whether a token is renewed without a refresh token of OAuth 2.0."""
    # Meta exchanges the access token itself, by GET and with a grant of its own.
    return "refresh_access_token" in str(entry.get("refresh_url"))


def response_variables(entry: Entry) -> set[str]:
    """Return the variables that the response with the token has."""
    names = entry.get("token_response_metadata") or []
    return {name.rpartition(".")[2] for name in names}


def redirect_variables(entry: Entry) -> set[str]:
    """Return the variables that the redirect back to the application has."""
    return set(entry.get("redirect_uri_metadata") or [])


def names_variable(text: str, names: Iterable[str]) -> bool:
    """Whether a text has one of some variables."""
    return any(re.search(rf"\$\{{[^}}]*\b{re.escape(name)}\b", text) for name in names)


def has_url_of_response(entry: Entry) -> bool:
    """Whether the Base URL is known only when a token was issued."""
    return names_variable(proxy_text(entry, "base_url"), response_variables(entry))


def has_value_by_hand(entry: Entry) -> bool:
    """Whether a user must copy a value that another request has."""
    values = response_variables(entry) | redirect_variables(entry)
    used = names_variable(
        proxy_text(entry, "base_url", "headers", "query") + str(entry.get("token_url")),
        values,
    )
    is_asked = "post_connection_script" in entry or bool(redirect_variables(entry))
    return (used or is_asked) and not has_url_of_response(entry)


def is_of_one_origin(entry: Entry) -> bool:
    """Whether the three URLs of OAuth 1.0a have one origin."""
    keys = ("request_url", "authorization_url", "token_url")
    return len({origin_of(entry[key]) for key in keys}) == 1


def has_steps_to_unknown_hosts(entry: Entry) -> bool:
    """Whether a step goes to a host that a response names."""
    return any(
        STEP_RESULT.search(origin_of(step["token_url"]))
        for step in entry.get("additional_steps", [])
    )


def has_login_steps(entry: Entry) -> bool:
    """Whether a login has more than one step, all of them to known hosts."""
    return bool(entry.get("additional_steps")) and not (
        has_steps_to_unknown_hosts(entry) or grant(entry) == JWT_BEARER
    )


def has_own_names(entry: Entry) -> bool:
    """Whether the URL for the user's consent has other parameters than OAuth 2.0's."""
    renamed = entry.get("authorization_url_replacements") or {}
    return any(renamed.values()) or bool(
        entry.get("authorization_url_fragment")
        or entry.get("authorization_url_skip_encode")
    )


RULES = (
    Rule(
        "registration of the client by the server (MCP)",
        NEVER,
        lambda entry: (
            entry.get("client_registration") == "dynamic"
            or mode(entry) == "MCP_OAUTH2_GENERIC"
        ),
    ),
    Rule("the Base URL from the token response", (NO, NO, YES), has_url_of_response),
    Rule("another URL for renewals", NEW, has_renewal_elsewhere),
    Rule("a renewal without a refresh token", NEVER, renews_in_own_way),
    Rule("the JWT bearer grant", NEW, lambda entry: grant(entry) == JWT_BEARER),
    Rule("the SAML bearer grant", NEVER, lambda entry: grant(entry) == SAML_BEARER),
    Rule(
        "the password grant at the origin of the API",
        (REMARK, YES, YES),
        lambda entry: (
            grant(entry) == "password"
            and origin_of(entry["token_url"]) == base_origin(entry)
        ),
    ),
    Rule(
        "the password grant at another origin",
        NEW,
        lambda entry: (
            grant(entry) == "password"
            and origin_of(entry["token_url"]) != base_origin(entry)
        ),
    ),
    Rule(
        "a login at another origin",
        NEW,
        lambda entry: (
            is_login(entry) and origin_of(entry["token_url"]) != base_origin(entry)
        ),
    ),
    Rule(
        "a login by GET",
        NEW,
        lambda entry: is_login(entry) and entry.get("token_request_method") == "GET",
    ),
    Rule("a login in several steps", NEW, has_login_steps),
    Rule(
        "a step to a host that a response names",
        (NO, REMARK, REMARK),
        has_steps_to_unknown_hosts,
    ),
    Rule(
        "a step after a grant",
        NEVER,
        lambda entry: (
            grant(entry) == JWT_BEARER and bool(entry.get("additional_steps"))
        ),
    ),
    Rule(
        "headers on the request for a token",
        NEW,
        lambda entry: is_two_step(entry) and has_own_token_headers(entry),
    ),
    Rule("a login with a Bearer token", NEW, authorizes_login),
    Rule(
        "credentials in a header that a user must encode",
        (NO, REMARK, REMARK),
        authorizes_encoded,
    ),
    Rule(
        "cookies of a login",
        NEW,
        lambda entry: "set-cookie" in (entry.get("token_response_headers") or []),
    ),
    Rule(
        "a session in the body of every request",
        NEVER,
        lambda entry: is_two_step(entry) and entry.get("body_format") == "xml",
    ),
    Rule(
        "a key in the body of every request",
        NEVER,
        lambda entry: bool((entry.get("proxy") or {}).get("body")),
    ),
    Rule(
        "a request for a token with a signature or the time",
        NEVER,
        asks_with_computed_values,
    ),
    Rule(
        "a token that is encoded together with another value",
        NEVER,
        lambda entry: TOKEN_INSIDE.search(proxy_text(entry, "headers")) is not None,
    ),
    Rule(
        "several values that are encoded together",
        BY_HAND,
        lambda entry: (
            CREDENTIALS_INSIDE.search(proxy_text(entry, "headers")) is not None
        ),
    ),
    Rule(
        "OAuth 1.0a with three legs",
        NEW,
        lambda entry: mode(entry) == "OAUTH1" and is_of_one_origin(entry),
    ),
    Rule(
        "OAuth 1.0a with three legs at several origins",
        NEVER,
        lambda entry: mode(entry) == "OAUTH1" and not is_of_one_origin(entry),
    ),
    Rule(
        "OAuth 1.0a with given tokens",
        (REMARK, YES, YES),
        lambda entry: mode(entry) == "TBA",
    ),
    Rule("AWS signatures", (REMARK, YES, YES), lambda entry: "awsSigV4(" in str(entry)),
    Rule("AWS roles", NEW, lambda entry: mode(entry) == "AWS_SIGV4"),
    Rule(
        "another signature, by a script",
        BY_HAND,
        lambda entry: (
            mode(entry) in {"SIGNATURE", "JWT"}
            or SIGNED.search(proxy_text(entry, "headers")) is not None
        ),
    ),
    Rule("a mode of its own", NEVER, lambda entry: mode(entry) in OWN_MODES),
    Rule("other names in the URL for consent", NEVER, has_own_names),
    Rule(
        "another name of the code",
        NEVER,
        lambda entry: any(key.startswith("authorization_code_param") for key in entry),
    ),
    Rule(
        "a token deeper in the response",
        NEVER,
        lambda entry: "alternate_access_token_response_path" in entry,
    ),
    Rule(
        "a lifetime in milliseconds, which is renewed after a 401",
        BY_HAND,
        lambda entry: "expires_in_unit" in entry,
    ),
    Rule(
        "PKCE switched off",
        (REMARK, YES, YES),
        lambda entry: bool(entry.get("disable_pkce")),
    ),
    Rule(
        "a value or step by hand after connecting",
        (REMARK, REMARK, YES),
        has_value_by_hand,
    ),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an entry is expressed, and by which rules."""

    name: str
    rules: tuple[Rule, ...]

    def level(self, stage: int) -> Level:
        """Return the level of a stage: that of what it expresses worst."""
        return max((rule.levels[stage] for rule in self.rules), default=YES)

    def needs(self, stage: int, level: Level) -> list[str]:
        """Return the needs that a stage expresses no better than a level."""
        return [rule.need for rule in self.rules if rule.levels[stage] == level]


def judge(catalogue: Mapping[str, Entry]) -> list[Verdict]:
    """Return the verdict of each entry."""
    return [
        Verdict(name, tuple(rule for rule in RULES if rule.applies(entry)))
        for name, entry in catalogue.items()
    ]


def report(verdicts: list[Verdict]) -> Iterator[str]:
    """Yield the shares, the needs, and the list of what is left, as Markdown."""
    total = len(verdicts)
    yield f"{total} entries\n"
    yield "| | without remark | with a remark | not |"
    yield "|---|---|---|---|"
    for stage, title in enumerate(STAGES):
        counts = Counter(verdict.level(stage) for verdict in verdicts)
        cells = (f"{counts[level]} ({counts[level] / total:.1%})" for level in Level)
        yield f"| {title} | {' | '.join(cells)} |"
    yield "\n| need | entries | " + " | ".join(STAGES) + " |"
    yield "|---|---|" + "---|" * len(STAGES)
    words = {YES: "yes", REMARK: "with a remark", NO: "no"}
    for rule in RULES:
        count = sum(rule in verdict.rules for verdict in verdicts)
        cells = (words[level] for level in rule.levels)
        yield f"| {rule.need} | {count} | {' | '.join(cells)} |"
    for stage, title in enumerate(STAGES[1:], start=1):
        for level, heading in ((NO, "Not expressed"), (REMARK, "With a remark")):
            yield f"\n{heading}, {title}:\n"
            yield from names_by_need(verdicts, stage, level)


def names_by_need(verdicts: list[Verdict], stage: int, level: Level) -> Iterator[str]:
    """Yield what a stage expresses at this level, the most frequent needs first."""
    by_need: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.level(stage) == level:
            need = "; ".join(verdict.needs(stage, level))
            by_need.setdefault(need, []).append(verdict.name)
    for need, names in sorted(by_need.items(), key=lambda item: -len(item[1])):
        yield f"- {need} ({len(names)}): {', '.join(names)}"


def main() -> None:
    """Print the report of a catalogue."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="providers.yaml")
    for line in report(judge(read_catalogue(parser.parse_args().path))):
        print(line)


if __name__ == "__main__":
    main()
