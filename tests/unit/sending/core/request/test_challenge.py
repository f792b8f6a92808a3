"""The table of schemes, and what is told apart by it."""

from outkey.foundation.core.fields.choices import AuthenticationType
from outkey.sending.core.aws.signing import ALGORITHM
from outkey.sending.core.request.challenge import (
    CREDENTIAL_WORDS,
    KEY_SCHEMES,
    KNOWN_SCHEMES,
    parse_challenges,
)


def test_every_authentication_type_is_a_known_scheme() -> None:
    known = {scheme.lower() for scheme in KNOWN_SCHEMES}
    # OAuth 1.0a names itself without its version, and AWS its algorithm.
    names = {
        AuthenticationType.OAUTH1: "oauth",
        AuthenticationType.AWS_SIGV4: ALGORITHM.lower(),
    }
    types = {names.get(kind, str(kind)) for kind in AuthenticationType}
    assert types - {AuthenticationType.NONE} <= known


def test_a_scheme_of_keys_is_no_known_scheme() -> None:
    assert not KEY_SCHEMES & {scheme.lower() for scheme in KNOWN_SCHEMES}


def test_every_known_scheme_is_read_from_a_challenge_in_lower_case() -> None:
    for scheme in KNOWN_SCHEMES:
        [challenge] = parse_challenges([f'{scheme} realm="api"'])
        assert challenge.scheme == scheme.lower()


def test_credential_words_are_written_without_a_space() -> None:
    assert all(word == word.strip() for word in CREDENTIAL_WORDS)
