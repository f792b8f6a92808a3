"""Preparing a connection test: of a stored configuration, or of an unsaved draft."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from outkey.foundation.core.errors import ConfigError, UnknownConnection
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.message import Response
from outkey.sending.engine.connection_test import (
    ConnectionTest,
    ConnectionTestPorts,
    Report,
    ReportStep,
)
from outkey.sending.engine.exchange.exchange import exchange
from outkey.sending.engine.exchange.sender import Sender
from outkey.sending.engine.tokens.token_cache import TokenCache
from outkey.sending.engine.wire.lockout_guard import LockoutGuard
from outkey.sending.ports.sending import Secrets, Tokens


class DraftCredentials(NamedTuple):
    """The secrets and tokens that an unsaved configuration is tested with."""

    secrets: Secrets
    tokens: Tokens
    # Whether they are stored if the test succeeds, with the token that it leaves. They
    # are those of whoever reads the result, which may quote the API.
    becomes_stored: bool = False


def prepare_test(
    sender: Sender,
    configuration: Configuration,
    draft: DraftCredentials | None = None,
    subject: Secret | None = None,
) -> ConnectionTest:
    """Return a test of a configuration; with `draft`, of one that is not stored.

    `subject` is the token of a user, where each request brings one.
    """
    context = sender.context
    if draft is None:
        guard = replace(context.lockout_guard, enforced=False)
        if configuration.other_set is not None:
            guard = LockoutGuard()  # says nothing of the credentials in use
        context = replace(context, lockout_guard=guard)
    else:
        context = replace(
            context,
            secrets=draft.secrets,
            tokens=draft.tokens,
            token_cache=TokenCache(),
            csrf_cache=TokenCache(),
            lockout_guard=LockoutGuard(),
        )
    limits = replace(configuration.limits, retries=0)
    configuration = replace(configuration, limits=limits)
    loses_token = draft is not None and not draft.becomes_stored
    is_unsaved_consent = loses_token and configuration.needs_consent
    consent_field = (
        "oauth1.request_url" if configuration.uses_oauth1 else "oauth2.grant"
    )

    def send(call: Call) -> Response:
        if call.configuration.needs_subject:  # not so without credentials
            call = call._replace(subject=subject)
        return sender.run(exchange(context, call))

    ports = ConnectionTestPorts(
        send=send,
        ready=partial(_refuse_unsaved_consent, consent_field)
        if is_unsaved_consent
        else lambda: sender.token_actions(configuration, context, subject).ready(),
        probe=lambda: sender.connect(configuration, context),
        greet=lambda: sender.connect(_by_tls(configuration), context),
        flush_audit=sender.flush_audit,
        quotes=draft is None or draft.becomes_stored,
    )
    return ConnectionTest(context, configuration, ports)


def report_without_account(name: str, error: UnknownConnection) -> Report:
    """Return the report of a test whose connection does not exist: nothing is sent."""
    return Report(
        configuration=name,
        ok=False,
        steps=(ReportStep("configuration", ok=False, detail=error.message, ms=0),),
        status=None,
        cause=error.cause,
        remedy=error.hint,
        findings=(),
        error=error,
    )


def _by_tls(configuration: Configuration) -> Configuration:
    """Return a configuration for a TLS handshake at the port of its Base URL.

    The client certificate stays here: it would prove who we are to any server.
    """
    origin = replace(configuration.base.origin, scheme="https")
    return replace(
        configuration,
        base=replace(configuration.base, origin=origin),
        tls=replace(configuration.tls, client_certificate=""),
    )


def _refuse_unsaved_consent(field: str) -> AccessToken:
    """Refuse to use a consent in a draft: its new refresh token would be lost."""
    raise ConfigError(
        Text("a token that a user agreed to can be tested only after saving"),
        hint=Text("Save the configuration first."),
        field=field,
    )
