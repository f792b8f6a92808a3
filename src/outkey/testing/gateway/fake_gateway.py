"""A gateway for the tests of code that sends with outkey: no network, no secrets.

A `FakeGateway` is a `Gateway`. It reads requests with the code of the real one, so that
it refuses what that refuses, and takes responses and errors from a table instead of an
API. The table stands for the whole gateway: what it responds is what `send` returns,
without retries, redirects and tokens in between.
"""

import re
import threading
import time
from collections.abc import Awaitable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from inspect import isawaitable, iscoroutine
from itertools import count
from pathlib import Path
from typing import NoReturn, Self, Unpack

import outkey
from outkey.foundation.core.errors import OutkeyError, without_traceback
from outkey.foundation.core.fields.field_kinds import check_method
from outkey.foundation.core.origin import build_target
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.configurations_memory import MemoryConfigurations
from outkey.sending.core.configuration.checks import refuse_unsendable
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.diagnosis.diagnose import diagnose
from outkey.sending.core.request.assembly import Call, authenticated_request
from outkey.sending.core.request.message import Request, Response, Route, Source
from outkey.sending.engine.exchange.calls import (
    CallOptions,
    SendOptions,
    build_call,
    find_account,
    subject_of,
)
from outkey.sending.engine.exchange.lend import Loan, lend
from outkey.sending.engine.gateway import Gateway
from outkey.sending.engine.tokens.renewal import missing_subject
from outkey.testing.gateway.recording import RecordingGateway, read_recording
from outkey.testing.gateway.requests import (
    FakeRequest,
    fake_request,
    request_of,
    without_base,
)
from outkey.testing.gateway.rules import (
    GatewayRule,
    PatternOptions,
    RequestPattern,
    UnexpectedRequest,
    build_pattern,
    count_times,
    make_response,
    request_text,
)
from outkey.testing.gateway.sender import (
    AnyConfigurations,
    fake_sender,
    made_up_configuration,
    read_configurations,
)

PathPattern = str | re.Pattern[str] | None


class FakeGateway(Gateway):
    """A gateway that takes its responses from a table, for your own tests.

    >>> gateway = FakeGateway()
    >>> rule = gateway.on("shop", "GET", "/orders").respond(json=[{"id": 1}])
    >>> gateway.send("shop", "GET", "/orders").json()
    [{'id': 1}]

    Pass it wherever your code takes a `Gateway`. Any configuration name is known to it.
    With `document`, the path of a TOML file as `outkey.load` reads it, only the
    configurations and sync lines in that file are known, and their settings count.
    Secrets are never read.

    `sent` has every request, oldest first. It can be used from several threads.
    """

    def __init__(self, document: str | Path | None = None) -> None:
        self._knows_any_name = document is None
        self._is_replay = False
        self._rules: list[GatewayRule] = []
        self._lock = threading.RLock()  # the functions of a test may send too
        self._numbers = count(1)
        self.sent: list[FakeRequest] = []
        self.unexpected: list[UnexpectedRequest] = []
        registry: MemoryConfigurations = AnyConfigurations()
        if document is not None:
            registry = read_configurations(Path(document))
        super().__init__(fake_sender(registry, self._respond_to_test))

    def on(
        self,
        configuration: str,
        method: str | None = None,
        path: PathPattern = None,
        *,
        times: int | None = None,
        **options: Unpack[PatternOptions],
    ) -> GatewayRule:
        """Add a rule for requests like this one, and return it.

        The arguments are those of `send`. Without a method or a path, any will do; a
        path may be a compiled regular expression, which must match all of it. `params`
        and `headers` must be in the request, and others may be; `json` or `data` must
        be the whole body. `where` is a function that is called with the `FakeRequest`,
        and returns whether it matches. Values are compared with `==`, so that
        `unittest.mock.ANY` works.

        If several rules match, the newest one responds. A rule for exactly the same
        requests replaces the earlier one. `times` limits how often a rule responds.
        """
        pattern = self._pattern(configuration, method, path, **options)
        return self._add_rule(GatewayRule(pattern, times))

    def _add_rule(self, rule: GatewayRule) -> GatewayRule:
        with self._lock:
            others = [other for other in self._rules if other.pattern != rule.pattern]
            self._rules = [*others, rule]
        return rule

    def _pattern(
        self,
        configuration: str | None,
        method: str | None,
        path: PathPattern,
        **options: Unpack[PatternOptions],
    ) -> RequestPattern:
        url = path if isinstance(path, str) else ""
        settings = made_up_configuration("any", url)
        if configuration is not None:
            settings = self._settings(configuration, url)
        query = ""
        if isinstance(path, str):
            target = build_target(settings.base, path)
            target = without_base(target, settings.base.target)
            path, _, query = target.partition("?")
        return build_pattern(
            configuration,
            None if method is None else check_method(method, field="method"),
            path,
            query,
            **options,
        )

    # ── what a gateway does ─────────────────────────────────────────────────────────

    def send(
        self,
        configuration: str,
        method: str,
        path: str,
        **options: Unpack[SendOptions],
    ) -> Response:
        """Return the response of the rule for this request, or raise its error.

        Raises `UnexpectedRequest`, an AssertionError, if there is no rule for it.
        """
        call = self._build_call(configuration, method, path, **options)
        result = self._take_result(call)
        if isawaitable(result):
            _refuse_async_function(result)
        return self._finish(call, result)

    async def asend(
        self,
        configuration: str,
        method: str,
        path: str,
        **options: Unpack[SendOptions],
    ) -> Response:
        """Do what `send` does; the function of a rule may be asynchronous."""
        call = self._build_call(configuration, method, path, **options)
        result = self._take_result(call)
        if isawaitable(result):
            result = await result
        return self._finish(call, result)

    def lend(  # noqa: PLR0913 - those of the real gateway
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
        """Return made-up credentials for a request that another HTTP client sends."""
        settings = self._settings(configuration, url, connection)
        _refuse_missing_subject(settings, subject_of(subject_token))
        return self._sender.run(
            lend(
                self._sender.context,
                settings,
                method,
                url,
                existing_headers,
                body=body,
                rejected=rejected.token if rejected else None,
            )
        )

    def _build_call(
        self,
        name: str,
        method: str,
        path: str,
        *,
        connection: str | None = None,
        **options: Unpack[CallOptions],
    ) -> Call:
        if not self._knows_any_name:
            return super()._build_call(
                name, method, path, connection=connection, **options
            )
        settings = self._settings(name, path, connection)
        return build_call(settings, method, path, **options)

    def _settings(
        self, name: str, url: str = "", connection: str | None = None
    ) -> Configuration:
        """Return a configuration; without a document, one whose origin is the URL's."""
        if self._knows_any_name:
            return made_up_configuration(name, url, connection)
        return find_account(self._sender.configurations, name, connection)

    def _take_result(self, call: Call) -> object:
        """Take the next result for a call, or refuse it as the real gateway would.

        A recording contains refusals too: a recorded error is raised first.
        """
        request = request_of(call)
        if not self._is_replay:
            self._refuse(call)
        result = self._respond(request)
        if self._is_replay and not isinstance(result, OutkeyError):
            self._refuse(call)
        return result

    def _refuse(self, call: Call) -> None:
        """Refuse what the real gateway refuses before it sends."""
        configuration = call.configuration
        refuse_unsendable(configuration)
        opener = self._sender.context.opener(configuration)
        _refuse_missing_subject(configuration, call.subject)
        authenticated_request(call.request(), configuration, opener)

    def _respond(self, request: FakeRequest) -> object:
        with self._lock:
            self.sent.append(request)
            rule = self._find_rule(request)
            if rule is None:
                failure = UnexpectedRequest(self._unexpected_text(request))
                self.unexpected.append(failure)
                raise failure
            result = rule.take(request)
        if isinstance(result, Response | OutkeyError | type):
            return result
        return result(request)  # outside of the lock: it may send a request itself

    def _find_rule(self, request: FakeRequest) -> GatewayRule | None:
        rules = reversed(self._rules)
        return next((rule for rule in rules if not rule.mismatches(request)), None)

    def _finish(self, call: Call, result: object) -> Response:
        """Return a rule's response as the real gateway would, or raise its error."""
        if isinstance(result, type) and issubclass(result, OutkeyError):
            raise result
        if isinstance(result, OutkeyError):
            raise without_traceback(result)  # it may be raised several times
        if result is None:
            raise TypeError("the function of a rule returned no response")
        response = result
        if not isinstance(response, Response):
            response = make_response(json=result)
        return replace(
            diagnosed(response, call.configuration),
            attempt=f"fake-{next(self._numbers)}",
        )

    def _respond_to_test(self, request: Request, route: Route) -> Response:
        """Respond to the request of a connection test."""
        has_credentials = any(
            header.source is Source.AUTHENTICATION for header in request.headers
        )
        settings = self._sender.configurations.get(route.partition)
        if settings.sends_credentials and not has_credentials:
            return Response(401)  # the comparison of a test, no rule is about it
        result = self._respond(
            fake_request(
                configuration=route.partition,
                method=request.method,
                target=without_base(request.target, settings.base.target),
                headers=request.headers,
                body=b"",
            )
        )
        if isawaitable(result):
            _refuse_async_function(result)
        return self._finish(Call(settings, request.method, "/"), result)

    # ── assertions ──────────────────────────────────────────────────────────────────

    def assert_sent(
        self,
        configuration: str | None = None,
        method: str | None = None,
        path: PathPattern = None,
        *,
        times: int | None = None,
        **options: Unpack[PatternOptions],
    ) -> list[FakeRequest]:
        """Assert that such a request was sent, and return all that match.

        The arguments are those of `on`. With `times`, exactly so many must have been
        sent: `times=0` asserts that there was none.
        """
        pattern = self._pattern(configuration, method, path, **options)
        matching = [request for request in self.sent if not pattern.mismatches(request)]
        is_expected = len(matching) == times if times is not None else bool(matching)
        if not is_expected:
            raise AssertionError(self._not_sent_text(pattern, len(matching), times))
        return matching

    def assert_all_used(self) -> None:
        """Assert that each response of each rule was used at least once."""
        unused = [text for rule in self._rules if (text := rule.unused_text())]
        if unused:
            raise AssertionError(
                "responses that were not used:\n" + _numbered_lines(unused)
            )

    def assert_all_expected(self) -> None:
        """Assert that there was a rule for every request.

        It finds requests whose `UnexpectedRequest` the code under test has caught. The
        fixture `outkey_gateway` does this at the end of each test.
        """
        if self.unexpected:
            raise AssertionError(
                "requests without a rule were sent, and the error was caught:\n\n"
                + "\n\n".join(map(str, self.unexpected))
            )

    def reset(self) -> None:
        """Remove all rules and requests."""
        with self._lock:
            self._rules = []
            self.sent.clear()
            self.unexpected.clear()

    def _unexpected_text(self, request: FakeRequest) -> str:
        rules = [
            f"{rule.pattern}\n       but {', and '.join(rule.mismatches(request))}"
            for rule in reversed(self._rules)
        ]
        expected = "There are no rules."
        if rules:
            expected = "The rules, newest first:\n" + _numbered_lines(rules)
        call = f'gateway.on("{request.configuration}", "{request.method}",'
        return (
            f"no rule for the request {request_text(request)}\n{expected}\n"
            f'Add one with: {call} "{request.path}").respond(...)'
        )

    def _not_sent_text(
        self, pattern: RequestPattern, matching: int, times: int | None
    ) -> str:
        wanted = "" if times is None else f" {count_times(times)}"
        text = f"expected{wanted}: {pattern}\nmatched: {count_times(matching)}\n"
        if not self.sent:
            return text + "Nothing was sent."
        requests = []
        for request in self.sent:
            line = request_text(request)
            if reasons := pattern.mismatches(request):
                line += f"\n       but {', and '.join(reasons)}"
            requests.append(line)
        return text + "Sent, oldest first:\n" + _numbered_lines(requests)

    # ── instead of the real gateway, and from a recording ───────────────────────────

    @contextmanager
    def installed(self) -> Iterator[Self]:
        """Let `outkey.open`, `outkey.aopen` and `outkey.load` return this gateway.

        For code that opens its gateway itself. It must call them as `outkey.open()`: a
        name that a module has imported before stays the real function.
        """

        def open_fake(*_args: object, **_options: object) -> Gateway:
            return self

        async def aopen_fake() -> Gateway:
            return self

        fakes = {"open": open_fake, "load": open_fake, "aopen": aopen_fake}
        namespace = vars(outkey)
        # Each is loaded when it is first used, so that some are not there yet.
        originals = {name: namespace[name] for name in fakes if name in namespace}
        namespace.update(fakes)
        try:
            yield self
        finally:
            for name in fakes:
                del namespace[name]
            namespace.update(originals)

    @staticmethod
    @contextmanager
    def record(gateway: Gateway, path: str | Path) -> Iterator[Gateway]:
        """Record what is sent with a real gateway, for `replay`.

        The block gets a gateway that sends with the real one. When the block ends
        without an exception, the exchanges of `send` and `asend` are written to a JSON
        file, in the order in which they began. Every secret is masked: see the guide.
        The real gateway stays open.
        """
        recording = RecordingGateway(gateway)
        yield recording
        recording.save(Path(path))

    @classmethod
    def replay(
        cls,
        path: str | Path,
        *,
        compare_body: bool = True,
        document: str | Path | None = None,
    ) -> Self:
        """Return a gateway that responds as it was recorded.

        Each exchange is used once; equal requests get their responses in the recorded
        order. Configuration, method, path and parameters must be the recorded ones, and
        the body too, unless `compare_body` is False. What was masked matches anything.
        """
        gateway = cls(document)
        gateway._is_replay = True
        for pattern, results in read_recording(Path(path), compare_body=compare_body):
            rule = GatewayRule(pattern, len(results), results=results)
            gateway._add_rule(rule)
        return gateway


def diagnosed(response: Response, configuration: Configuration) -> Response:
    """Return a response with its cause and remedy, as the real gateway finds them."""
    if response.cause is not None:  # it was recorded
        return response
    diagnosis = diagnose(response, configuration, now=time.time())
    if diagnosis is None:
        return response
    return replace(response, cause=diagnosis.cause, remedy=diagnosis.remedy)


def _refuse_missing_subject(
    configuration: Configuration, subject: Secret | None
) -> None:
    """Refuse a request without its user, as the real gateway does."""
    if configuration.oauth2.needs_subject and not subject:
        raise missing_subject()


def _refuse_async_function(result: Awaitable[object]) -> NoReturn:
    """Refuse the result of an asynchronous function outside of `asend`."""
    if iscoroutine(result):
        result.close()  # else Python warns that it was never awaited
    raise TypeError("an async function can respond to asend only")


def _numbered_lines(texts: Iterable[str]) -> str:
    """Return texts as a numbered list."""
    return "\n".join(f"  {number}. {text}" for number, text in enumerate(texts, 1))
