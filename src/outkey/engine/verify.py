"""Testing a configuration: step by step, with the cause and the remedy of the first that fails."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from outkey.core.assembly import Call, authenticated
from outkey.core.checks import Finding, Level, check, refuse_unsendable
from outkey.core.config import Configuration
from outkey.core.diagnosis import REMEDIES
from outkey.core.errors import Cause, OutkeyError
from outkey.core.message import Response
from outkey.core.oauth2.token import AccessToken
from outkey.engine.carry import Sender
from outkey.engine.scripts import signed

# What fails before an answer comes is the connection's fault; anything else is the request's.
_OF_CONNECTING = frozenset(
    {Cause.DNS, Cause.CONNECTION, Cause.TLS, Cause.TIMEOUT, Cause.EGRESS_DENIED}
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a test."""

    step: str
    ok: bool
    detail: str
    ms: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a test found. `status` is None where no answer came."""

    configuration: str
    ok: bool
    steps: tuple[Step, ...]
    status: int | None
    cause: Cause | None
    remedy: str | None
    findings: tuple[Finding, ...]
    error: OutkeyError | None = None  # what was raised, where nothing came back


class Trial:
    """One test of one configuration. It sends at most one request, and never a retry."""

    def __init__(
        self,
        sender: Sender,
        configuration: Configuration,
        send: Callable[[Call], Response],
        ready: Callable[[], AccessToken],
    ) -> None:
        self._sender, self._configuration, self._send = sender, configuration, send
        self._ready = ready
        self._steps: list[Step] = []
        self._status: int | None = None
        self._error: OutkeyError | None = None
        self._cause: Cause | None = None
        self._remedy: str | None = None
        self._started = sender.clock.monotonic()

    def run(self) -> Report:
        """Go through the steps until one fails."""
        for _ in self.steps():
            pass
        return self.report()

    def steps(self) -> Iterator[Step]:
        """Go through the steps until one fails, and yield each when it is done."""
        step = "configuration"
        try:
            call = self._checked()
            yield self._done(step, "complete")
            step = "secrets"
            self._open_secrets(call)
            yield self._done(step, "all there")
            if self._configuration.uses_oauth2:
                step = "token"
                yield self._done(step, f"{self._ready().kind} token there")
            if self._configuration.is_scripted:
                step = "script"
                count = len(signed(self._sender, self._configuration, "", call.request()))
                yield self._done(step, f"{count} headers")
            step = "request"
            response = self._send(call)
        except OutkeyError as error:
            if step == "request" and error.cause in _OF_CONNECTING:
                step = "connect"
            self._error, self._cause = error, error.cause
            self._remedy = error.hint or REMEDIES.get(error.cause)
            yield self._failed(step, error.message)
        else:
            yield self._done("connect", str(self._configuration.base.origin))
            yield self._judged(response)

    def report(self) -> Report:
        """Return what the steps found."""
        configuration, clock, cause = self._configuration, self._sender.clock, self._cause
        secret = self._sender.opener(configuration)
        findings = check(configuration, secret, now=clock.now())
        shown = tuple(finding for finding in findings if finding.level is not Level.ERROR or cause)
        return Report(
            configuration=configuration.name,
            ok=cause is None,
            steps=tuple(self._steps),
            status=self._status,
            cause=cause,
            remedy=self._remedy,
            findings=shown,
            error=self._error,
        )

    def _checked(self) -> Call:
        refuse_unsendable(self._configuration)
        verification = self._configuration.verification
        call = Call(self._configuration, verification.test_method, verification.test_path)
        call.request()
        return call

    def _open_secrets(self, call: Call) -> None:
        secret = self._sender.opener(self._configuration)
        for name in self._configuration.needed_secrets():
            secret(name)
        authenticated(call.request(), self._configuration, secret)

    def _judged(self, response: Response) -> Step:
        self._status = response.status
        answered = f"answered {response.status}"
        if accepts(self._configuration.verification.accepted_statuses, response.status):
            return self._done("request", answered)
        self._cause = response.cause or Cause.UNEXPECTED
        self._remedy = response.remedy or REMEDIES[self._cause]
        return self._failed("request", answered)

    def _done(self, step: str, detail: str) -> Step:
        return self._note(step, detail, ok=True)

    def _failed(self, step: str, detail: str) -> Step:
        return self._note(step, detail, ok=False)

    def _note(self, step: str, detail: str, *, ok: bool) -> Step:
        now = self._sender.clock.monotonic()
        noted = Step(step, ok, detail, round((now - self._started) * 1000))
        self._steps.append(noted)
        self._started = now
        return noted


def accepts(statuses: str, status: int) -> bool:
    """Tell whether a status is among those of a text such as `200-299, 404`."""
    for part in statuses.split(","):
        first, _, last = part.strip().partition("-")
        if int(first) <= status <= int(last or first):
            return True
    return False
