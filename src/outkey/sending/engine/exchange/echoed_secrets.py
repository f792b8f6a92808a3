"""Secrets that an API repeats: which ones it was sent, and whether a value has one.

Everything that shows or stores a part of a response is checked here first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from outkey.foundation.core.echo.search import SearchPatterns, SearchText
from outkey.foundation.core.echo.strict import reveals_secret, search_text
from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.secret import MASK, Secret
from outkey.sending.core.request.headers import tidy_token, tidy_value
from outkey.sending.core.request.script import SCRIPT_FACT

if TYPE_CHECKING:
    from outkey.sending.core.configuration.configuration import Configuration
    from outkey.sending.core.request.message import Response
    from outkey.sending.engine.wire.context import SendContext

# A number with an exponent; and a table that leaves 0 of the digits, e of e and E.
_EXPONENT = re.compile(rb"[eE](?:(?<=[0-9][eE])[-+]?[0-9]+\s*[,\]}])")
_HALF_CHARACTER = re.compile(rb"\\u[dD]")
_AS_ZEROS = bytes.maketrans(b"123456789E", b"000000000e")


def sent_secrets(
    context: SendContext,
    configuration: Configuration,
    response: Response | None = None,
) -> list[Secret]:
    """Return the secrets that a response may repeat.

    These are the tokens and secrets of the configuration, as they were entered and as
    they are sent, and with a response also what was made for its own request:
    signatures, proofs and header values.
    """
    from outkey.sending.core.request.sent_secrets import (  # noqa: PLC0415
        credentials_in,
        without_repetition,
    )
    from outkey.sending.engine.tokens.csrf_source import csrf_manager  # noqa: PLC0415

    secrets: list[Secret] = []
    # An API knows all sets: in a trial it gets two of them in turn.
    for view in configuration.of_all_sets():
        secrets += _secrets_of(context, view)
    if configuration.csrf.path and not configuration.needs_subject:
        secrets += csrf_manager(context, configuration).secrets()
    if response is not None:
        secrets += credentials_in(response.sent)
    return without_repetition(secrets)


def _secrets_of(context: SendContext, view: Configuration) -> list[Secret]:
    """Return the tokens and secrets of a configuration with one set."""
    from outkey.sending.engine.tokens.renewal import TokenManager  # noqa: PLC0415

    secrets: list[Secret] = []
    if view.fetches_token:
        secrets += TokenManager(context, view).secrets()
    names = {*view.needed_secrets(), *view.secrets} - {SCRIPT_FACT}
    for name in sorted(names):
        with suppress(OutkeyError):  # what cannot be opened was not sent
            value = context.open(view, name)
            secrets += [value, value.derive(tidy_value), value.derive(tidy_token)]
    return secrets


def repeats_secret(
    context: SendContext, configuration: Configuration, response: Response
) -> bool:
    """Whether a response repeats a secret; assumed if the secrets cannot be read."""
    parts: list[object] = [response.text, list(response.headers)]
    with suppress(ValueError, RecursionError):  # not JSON: the text alone counts
        parts.append(response.json())
    try:
        return reveals_secret(sent_secrets(context, configuration, response), parts)
    except OutkeyError:
        return True


class EchoedSecret(str):
    """The mask in the place of a value that repeats a secret."""

    __slots__ = ()


def has_masked_value(value: object) -> bool:
    """Whether a value of a masked document contains a mask."""
    if isinstance(value, Mapping):
        return any(
            has_masked_value(key) or has_masked_value(part)
            for key, part in value.items()
        )
    if isinstance(value, list | tuple):
        return any(map(has_masked_value, value))
    return isinstance(value, EchoedSecret)


class EchoDetector:
    """Finds secrets in pages and records of a run.

    The patterns to look for are computed once for each secret.
    """

    def __init__(self) -> None:
        self._patterns: list[tuple[Secret, SearchPatterns]] = []

    def look_for(self, secrets: Sequence[Secret]) -> None:
        """Set the secrets to find; one that contains another is found by that one."""
        self._patterns = [
            (secret, self._patterns_of(secret))
            for secret in secrets
            if not any(other.search_also_finds(secret) for other in secrets)
        ]

    def _patterns_of(self, secret: Secret) -> SearchPatterns:
        computed = (patterns for other, patterns in self._patterns if other == secret)
        return next(computed, None) or secret.patterns()

    def may_be_in_page(self, response: Response, document: object) -> bool:
        """Whether a record of a page may repeat a secret: one search for all."""
        body = response.body
        has_number = any(patterns.may_be_number for _, patterns in self._patterns)
        if has_number or _needs_parsing(body):
            return self.may_be_in(document)
        return self._may_be_in(SearchText.of_json(body))

    def may_be_in(self, value: object) -> bool:
        """Whether a value may repeat a secret: if so, its parts are searched."""
        text = search_text(value)
        return text is None or self._may_be_in(text)

    def is_in(self, value: object) -> bool:
        """Whether a value repeats a secret."""
        text = search_text(value)
        return text is None or any(
            patterns.is_in(text) for _, patterns in self._patterns
        )

    def masked(self, document: object) -> object:
        """Return a document with a mask for each value that repeats a secret.

        For expressions: a user writes them, and their results could reveal a secret.
        """
        try:
            return self._masked(document)
        except RecursionError:
            return EchoedSecret(MASK)

    def _masked(self, value: object) -> object:
        if isinstance(value, Mapping):
            return {
                self._masked(key): self._masked(part) for key, part in value.items()
            }
        if isinstance(value, list):
            return [self._masked(part) for part in value]
        return EchoedSecret(MASK) if self.is_in(value) else value

    def _may_be_in(self, text: SearchText) -> bool:
        return any(patterns.may_be_in(text) for _, patterns in self._patterns)


def _needs_parsing(body: bytes) -> bool:
    """Whether only the parsed document has the characters that its values have.

    So it is in another encoding than UTF-8, with an escape of half a character, whose
    other half may be anywhere, or with an exponent.
    """
    if b"\0" in body or (b"\\" in body and _HALF_CHARACTER.search(body)):
        return True
    has_exponent = b"0e" in body.translate(_AS_ZEROS)  # in most cases quicker to tell
    return has_exponent and _EXPONENT.search(body) is not None
