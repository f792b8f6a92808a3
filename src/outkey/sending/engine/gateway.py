"""The entry point for callers: a Gateway sends by the name of a configuration."""

import asyncio
from collections.abc import Iterable
from functools import partial
from typing import Self, Unpack

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.foundation.ports.threads import Threads
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.assembly import Call
from outkey.sending.core.request.message import Response
from outkey.sending.engine.connection_test import Report
from outkey.sending.engine.connection_test_setup import prepare_test
from outkey.sending.engine.exchange.calls import (
    CallOptions,
    RequestContent,
    SendOptions,
    build_call,
    find_account,
    subject_of,
)
from outkey.sending.engine.exchange.lend import Loan, lend, settle
from outkey.sending.engine.exchange.preview import Preview, preview
from outkey.sending.engine.exchange.sender import Sender
from outkey.sending.engine.rotation.lent_trial import lend_in_trial, settle_in_trial
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.off_loop import off_loop
from outkey.sending.engine.wire.steps import Steps


def threads_of(gateway: "Gateway", *_args: object, **_options: object) -> Threads:
    """Return the threads for calls of a gateway on an event loop."""
    return gateway._sender.threads  # noqa: SLF001 - of the class below


_off_loop = off_loop(threads_of)


class Gateway:
    """Sends requests with the right credentials to the right place, or not at all.

    Every call works on an event loop, but only `asend` and `aclose` do not block it.
    """

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    @_off_loop
    def send(
        self,
        configuration: str,
        method: str,
        path: str,
        **options: Unpack[SendOptions],
    ) -> Response:
        """Send one request and return the response whatever its status.

        `params` is the query; the body is `json` or `data` (bytes, text, or a mapping
        that becomes a form); `headers` are added to the configuration's own; `line`
        names the sync line that the request belongs to, `actor` who asked for it, and
        `subject_token` is the token of the user that it is sent for, for a
        configuration that exchanges it. `connection` is the id of the account that it
        is sent for, under a configuration that has several.
        Raises when nothing was sent or nothing came back.
        """
        return self._sender.send(
            self._build_call(configuration, method, path, **options)
        )

    async def asend(
        self,
        configuration: str,
        method: str,
        path: str,
        **options: Unpack[SendOptions],
    ) -> Response:
        """Do what `send` does, without blocking the event loop.

        A cancelled call ends once its record is written, and once a token that is being
        fetched is stored: a few seconds at most.
        """
        build = partial(self._build_call, configuration, method, path, **options)
        return await self._sender.asend(build)

    def _build_call(
        self,
        name: str,
        method: str,
        path: str,
        *,
        connection: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Call:
        configurations = self._sender.configurations
        line = options.get("line")
        if line and configurations.configuration_of_line(line) != name:
            raise ConfigError(
                Text("the sync line belongs to another configuration"), field="line"
            )
        found = find_account(configurations, name, connection)
        return build_call(found, method, path, **options)

    @_off_loop
    def preview(
        self,
        configuration: str,
        method: str = "GET",
        path: str | None = None,
        *,
        connection: str | None = None,
        **content: Unpack[RequestContent],
    ) -> Preview:
        """Return the exact request with secrets masked; sends nothing.

        Without a path it shows a request to the configuration's test path. The content
        is that of `send`: params, json, data, headers; so is the `connection`.
        """
        configurations = self._sender.configurations
        settings = find_account(configurations, configuration, connection)
        call = build_call(settings, method, path, **content)
        return preview(self._sender.context, call)

    @_off_loop
    def test(
        self,
        configuration: str,
        *,
        subject_token: str | Secret | None = None,
        connection: str | None = None,
    ) -> Report:
        """Test a configuration step by step.

        At most one request with credentials is sent. `subject_token` and `connection`
        are those of `send`.
        """
        configurations = self._sender.configurations
        settings = find_account(configurations, configuration, connection)
        subject = subject_of(subject_token)
        return prepare_test(self._sender, settings, subject=subject).run()

    @_off_loop
    def lend(  # noqa: PLR0913 - the parts of a request, and whose it is
        self,
        configuration: str,
        method: str,
        url: str,
        existing_headers: Iterable[str],
        *,
        body: bytes | None = b"",
        rejected: Loan | None = None,
        subject_token: str | Secret | None = None,
        connection: str | None = None,
    ) -> Loan:
        """Return the credentials for a request that another HTTP client will send.

        `existing_headers` are the names of the headers it has already, or a mapping of
        its headers, which a signature of AWS needs; `body` is None if it comes from a
        stream. Report the response to `settle`. If the API refused
        a loan's token, pass that loan as `rejected` to get another token.
        `subject_token` and `connection` are those of `send`.
        """
        sender = self._sender
        settings = find_account(sender.configurations, configuration, connection)

        def lend_to(
            context: SendContext, lender: Configuration, token: AccessToken | None
        ) -> Steps[Loan]:
            return lend(
                context,
                lender,
                method,
                url,
                existing_headers,
                body=body,
                rejected=token,
                subject=subject_of(subject_token),
            )

        if sender.trials is None:
            token = rejected.token if rejected else None
            return sender.run(lend_to(sender.context, settings, token))
        return sender.run(
            lend_in_trial(
                sender.trials,
                sender.context,
                settings,
                rejected,
                lend_to,
                repeatable=body is not None,
            )
        )

    @_off_loop
    def settle(
        self, loan: Loan, status: int, headers: Iterable[tuple[str, str]] = ()
    ) -> bool:
        """Record how a request with lent credentials ended; status 0: no response.

        Returns whether the response refuses the token, or the credentials of a trial,
        so that another loan is worth a retry.
        """
        sender = self._sender
        if sender.trials is not None and loan.turn is not None:
            steps = settle_in_trial(
                sender.trials, sender.context, loan, loan.turn, status, headers
            )
        else:
            find = partial(
                find_account, sender.configurations, loan.configuration, loan.connection
            )
            steps = settle(sender.context, find, loan, status, headers)
        return sender.run(steps)

    @_off_loop
    def close(self) -> None:
        """Write queued records; close connections and processes that run scripts."""
        self._sender.close()

    async def aclose(self) -> None:
        """Do the same, and close the connections of the running event loop."""
        await self._sender.leave_loop()
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
