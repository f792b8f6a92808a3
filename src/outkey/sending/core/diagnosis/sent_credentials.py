"""What a request carries that proves who sends it: words, headers and parameters.

A challenge is compared with these and not with the Authentication Type: a prefix, a
header row or a query row may be exactly what the server asks for.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.fields.choices import AuthenticationType
from outkey.foundation.core.secret import Secret
from outkey.sending.core.aws.signing import ALGORITHM
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import PLACEHOLDER, CustomHeader
from outkey.sending.core.request.assembly import SecretOpener
from outkey.sending.core.request.challenge import CREDENTIAL_WORDS, Challenge
from outkey.sending.core.request.headers import tidy_value
from outkey.sending.core.request.token_place import place_of

_AUTHORIZATION = "authorization"
_WORDS = tuple(f"{word.lower()} " for word in CREDENTIAL_WORDS)
# The words before a signature.
_SIGNATURES = {
    AuthenticationType.AWS_SIGV4: ALGORITHM.lower(),
    AuthenticationType.OAUTH1: "oauth",
}
# Parameters of a challenge in which some APIs name the header or query parameter.
_NAMING = ("name", "header", "query", "parameter")


class SentCredentials(NamedTuple):
    """The places of the credentials of a request, all in lower case.

    `words` stand before a credential in Authorization.
    """

    words: frozenset[str]
    headers: frozenset[str]
    parameters: frozenset[str]

    @property
    def is_key_elsewhere(self) -> bool:
        """Whether keys are sent, and none of them in Authorization."""
        others = self.headers - {_AUTHORIZATION}
        return bool(others | self.parameters) and _AUTHORIZATION not in self.headers

    def is_named_by(self, challenges: Iterable[Challenge]) -> bool:
        """Whether a challenge names one of these."""
        places = self.headers - {_AUTHORIZATION} | self.parameters
        return any(
            challenge.scheme in self.words
            or challenge.scheme in places
            or any(
                challenge.parameters.get(name, "").lower() in places for name in _NAMING
            )
            for challenge in challenges
        )


def sent_credentials(
    configuration: Configuration, secret: SecretOpener | None
) -> SentCredentials:
    """Return what requests of a configuration carry.

    The word in a header row is known where the row has it, or where the entered secrets
    may be read.
    """
    words: set[str] = set()
    headers = {row.key.lower() for row in configuration.headers if row.secret}
    parameters = {row.key.lower() for row in configuration.query if row.secret}
    if configuration.sends_password:
        words.add(str(configuration.authentication_type))
        headers.add(_AUTHORIZATION)
    if word := _SIGNATURES.get(configuration.authentication_type):
        words.add(word)
        headers.add(_AUTHORIZATION)
    if configuration.sends_token:
        kind = "DPoP" if configuration.uses_dpop else "Bearer"
        place = place_of(configuration, kind)
        name = place.name.lower()
        if place.kind == "query":
            parameters.add(name)
        else:
            headers.add("cookie" if place.kind == "cookie" else name)
        if name == _AUTHORIZATION and place.kind == "header":
            words.add(place.prefix.strip().lower())
    for row in configuration.headers:
        if row.secret and row.key.lower() == _AUTHORIZATION:
            words |= set(_words_of_row(row, secret))
    return SentCredentials(
        frozenset(words - {""}), frozenset(headers), frozenset(parameters)
    )


def _words_of_row(row: CustomHeader, secret: SecretOpener | None) -> Iterator[str]:
    """Yield the word that an Authorization row begins with, if it is known."""
    before, found, _ = row.value.partition(PLACEHOLDER)
    if found and before.strip():
        yield before.split()[0].lower()
        return
    try:
        entered = secret(row.secret_field) if secret else Secret("")
    except OutkeyError:
        return  # it is reported as an error of its own
    yield entered.derive(tidy_value).derive(str.lower).known_prefix(_WORDS).strip()
