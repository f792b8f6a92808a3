"""Testing a configuration: step by step, with cause and remedy of the first failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from outkey.foundation.core.echo.strict import reveals_secret
from outkey.foundation.core.errors import (
    BackendUnavailable,
    Cause,
    ConfigError,
    EgressDenied,
    OutkeyError,
    ProxyFailed,
    SecretMissing,
    TokenEndpointFailed,
)
from outkey.foundation.core.fields.statuses import accepts
from outkey.foundation.core.findings.checks import Finding, Level, merge_findings
from outkey.foundation.core.moments import CLOCK_SKEW_SECONDS, day_of
from outkey.foundation.core.text import Text, counted, join_texts
from outkey.sending.core.audit.events import COMPARISON
from outkey.sending.core.configuration.anonymous import without_credentials
from outkey.sending.core.configuration.checks import (
    CLOCK_AHEAD,
    CLOCK_BEHIND,
    DOUBTFUL_SUCCESS,
    TEST_PROVES_NOTHING,
    configuration_findings,
    refuse_unsendable,
)
from outkey.sending.core.configuration.configuration import STEPS, Configuration
from outkey.sending.core.diagnosis.diagnose import (
    diagnose,
    diagnose_error,
    diagnose_success,
    doubt_about_success,
    have_other_content,
)
from outkey.sending.core.diagnosis.evidence import Certainty, Diagnosis, Suspicion
from outkey.sending.core.diagnosis.failures import (
    TlsHello,
    is_silent_close,
    tls_hello,
)
from outkey.sending.core.diagnosis.remote_text import remote_message, shorten
from outkey.sending.core.diagnosis.sent_credentials import sent_credentials
from outkey.sending.core.login.checks import refuse_unusable_login
from outkey.sending.core.login.failures import LOGIN_PATH
from outkey.sending.core.oauth2.token import AccessToken
from outkey.sending.core.request.assembly import (
    Call,
    authenticated_request,
    call_of_test,
)
from outkey.sending.core.request.challenge import KNOWN_SCHEMES, parse_challenges
from outkey.sending.core.request.message import BODY_READ, Peer, Response
from outkey.sending.core.request.script import ScriptParts
from outkey.sending.engine.exchange.echoed_secrets import sent_secrets
from outkey.sending.engine.exchange.scripts import sign
from outkey.sending.engine.tokens.login_paths import refuse_invalid_expressions
from outkey.sending.engine.wire.context import SendContext
from outkey.sending.engine.wire.transmit import REFUSALS

if TYPE_CHECKING:  # loaded where a test fails
    from outkey.sending.engine.exchange.preview import Preview

SAFE = frozenset({"GET", "HEAD"})  # RFC 9110 §9.2.1: repeating them changes nothing
LONG_WORD = re.compile(r"\S{24,}")
# Of what a server offers only these are stored: anything else is its own text.
STORED_SCHEMES = frozenset(scheme.lower() for scheme in KNOWN_SCHEMES)
PROVES_NOTHING = TEST_PROVES_NOTHING.finding("verification.test_path")


@dataclass(frozen=True, slots=True)
class ReportStep:
    """One step of a test."""

    step: str
    ok: bool
    detail: Text
    ms: int


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a test. `status` is None where no response came.

    `suspicions` are ranked; the first one has the cause and the remedy. `seen` is what
    is worth storing about the other side.
    """

    configuration: str
    ok: bool
    steps: tuple[ReportStep, ...]
    status: int | None
    cause: Cause | None
    remedy: Text | None
    findings: tuple[Finding, ...]
    error: OutkeyError | None = None  #: what was raised, where no response came
    suspicions: tuple[Suspicion, ...] = ()
    seen: dict[str, object] = field(default_factory=dict)
    sent: Preview | None = None  #: the request that failed, masked
    connection: str = ""  #: the account that it was sent for

    @property
    def code(self) -> str:
        """The code of the error, where it is more precise than the cause."""
        code = str(self.error.code) if self.error else ""
        return "" if code == self.cause else code

    @property
    def certainty(self) -> Certainty | None:
        """How sure the cause is; None where there is none, or an error states it."""
        return self.suspicions[0].certainty if self.suspicions else None

    @property
    def cause_word(self) -> str:
        """The cause as a user reads it: a login has no token endpoint."""
        is_login = isinstance(self.error, TokenEndpointFailed) and self.error.field in {
            LOGIN_PATH,
            STEPS,
        }
        return Text("login") if is_login else str(self.cause)

    @property
    def is_refused_address(self) -> bool:
        """Whether outkey's own rule refuses the address, so that no API responded."""
        return self.cause is Cause.EGRESS_DENIED

    @property
    def proves_nothing(self) -> bool:
        """Whether the request succeeds without credentials too."""
        return self.ok and PROVES_NOTHING in self.findings


class ConnectionTestPorts(NamedTuple):
    """How a test reaches the outside world."""

    send: Callable[[Call], Response]
    ready: Callable[[], AccessToken]
    probe: Callable[[], Peer]
    greet: Callable[[], Peer]  # by TLS at the same port, without a client certificate
    flush_audit: Callable[[], None]  # so that a user finds the outcomes at once
    quotes: bool


class ConnectionTest:
    """One test of one configuration. It never retries.

    At most one request has credentials; another one, without them, may follow a success
    or a refusal.
    """

    def __init__(
        self,
        context: SendContext,
        configuration: Configuration,
        ports: ConnectionTestPorts,
    ) -> None:
        self._context = context.for_send(configuration)
        self._configuration = configuration
        self._ports = ports
        self._steps: list[ReportStep] = []
        self._findings: list[Finding] = []
        self._seen: dict[str, object] = {}
        self._status: int | None = None
        self._error: OutkeyError | None = None
        self._diagnosis: Diagnosis | None = None
        self._preview: Preview | None = None
        self._started = context.clock.monotonic()

    def run(self) -> Report:
        """Go through the steps until one fails."""
        for _ in self.steps():
            pass
        return self.report()

    def steps(self) -> Iterator[ReportStep]:
        """Go through the steps until one fails, and yield each when it is done."""
        try:
            yield from self._steps_until_failure()
        finally:
            self._ports.flush_audit()

    def _steps_until_failure(self) -> Iterator[ReportStep]:
        step = "configuration"
        try:
            call = self._test_request()
            yield self._pass(step, Text("complete"))
            step = "secrets"
            self._open_secrets(call)
            yield self._pass(step, self._sources_text())
            if self._configuration.fetches_token:
                step = "token"
                kind = self._ports.ready().kind
                yield self._pass(step, Text("{kind} token present", kind=kind))
            if self._configuration.is_scripted:
                step = "script"
                parts = sign(self._context, self._configuration, "", call.request())
                yield self._pass(step, _script_text(parts))
            step = "connect"
            yield self._pass(step, self._peer_text(self._ports.probe()))
            step = "request"
            response = self._ports.send(call)
        except OutkeyError as error:
            is_connected = step == "request"
            self._error = error
            self._note_store_refusal(error)
            self._diagnosis = diagnose_error(
                error,
                self._configuration,
                now=self._context.clock.now(),
                met=is_connected,
                hello=self._hello_after(error) if is_connected else None,
            )
            if is_connected:
                self._record_request(call)
            yield self._fail(step, self._error_text(error))
        else:
            yield self._judge(call, response)

    def _hello_after(self, error: OutkeyError) -> TlsHello | None:
        """Return what the port does with TLS, if it closed plain http in silence."""
        if not is_silent_close(error, self._configuration):
            return None
        try:
            self._ports.greet()
        except OutkeyError as greeting_error:
            return tls_hello(greeting_error)
        return tls_hello(None)

    def report(self) -> Report:
        """Return the report of all steps."""
        diagnosis = self._diagnosis
        opener = self._context.opener(self._configuration)
        findings = [
            finding
            for finding in configuration_findings(
                self._configuration, opener, now=self._context.clock.now()
            )
            if finding.level is not Level.ERROR or diagnosis
            if not self._is_raised(finding)
        ]
        return Report(
            configuration=self._configuration.name,
            ok=diagnosis is None,
            steps=tuple(self._steps),
            status=self._status,
            cause=diagnosis.cause if diagnosis else None,
            remedy=diagnosis.remedy if diagnosis else None,
            findings=merge_findings((*findings, *self._findings)),
            error=self._error,
            suspicions=(
                tuple(map(self._without_fix_elsewhere, diagnosis.suspicions))
                if diagnosis
                else ()
            ),
            seen=self._seen,
            sent=self._preview,
            connection=self._configuration.connection_id,
        )

    def _is_raised(self, finding: Finding) -> bool:
        """Whether a finding repeats what ended the test."""
        error = self._error
        if isinstance(error, EgressDenied):
            # Other findings on the address are about the same rule.
            return finding.field in {error.field, "base_url"}
        if _is_refused_by_store(error):
            return finding.id == f"E-{error.code}" and finding.message == error.message
        return (
            isinstance(error, ConfigError)
            and finding.id == f"E-{ConfigError.code}"
            and finding.message == error.message
        )

    def _without_fix_elsewhere(self, suspicion: Suspicion) -> Suspicion:
        """Remove the fix of a value that is stored outside of outkey."""
        if suspicion.fix is None:
            return suspicion
        state = self._configuration.secrets.get(suspicion.fix.tidied)
        if state is not None and state.reference is not None:
            return replace(suspicion, fix=None)
        return suspicion

    def _test_request(self) -> Call:
        refuse_unsendable(self._configuration)
        refuse_unusable_login(self._configuration)
        refuse_invalid_expressions(self._context.paths, self._configuration)
        call = call_of_test(self._configuration)
        call.request()
        return call

    def _open_secrets(self, call: Call) -> None:
        opener = self._context.opener(self._configuration)
        for name in self._configuration.needed_secrets():
            opener(name)
        authenticated_request(call.request(), self._configuration, opener)

    def _sources_text(self) -> Text:
        """Return where secrets came from, as far as that are external stores."""
        reads = self._context.reads
        sources = reads.sources() if reads is not None else ()
        texts = [Text("all present")]
        for source in sources:
            how = Text("cached") if source.cached else Text("fetched")
            texts.append(
                Text(
                    "{field} from {backend}, version {version}, {how}",
                    field=source.field,
                    backend=source.backend,
                    version=source.version or "-",
                    how=how,
                )
            )
        return join_texts(texts, "; ")

    def _note_store_refusal(self, error: OutkeyError) -> None:
        """Add a finding with the reason for which a store returned no secret."""
        if _is_refused_by_store(error):
            self._findings.append(
                Finding(
                    error.reason, Level.ERROR, error.message, error.hint, error.field
                )
            )

    def _peer_text(self, peer: Peer) -> Text:
        """Describe the server, and record the facts that the doctor checks."""
        address = Text("{address}", address=peer.address)
        if peer.proxy is not None:
            address = Text("through the proxy {proxy}", proxy=peer.proxy)
        if not peer.tls:
            return Text("{address}, without TLS", address=address)
        self._seen |= {"tls": peer.tls, "certificate_ends": peer.ends}
        texts = [Text("{address}, {tls}", address=address, tls=peer.tls)]
        # A server that was sent a secret before can get a certificate in its name.
        hides_names = self._reveals_secret([part.subject for part in peer.chain])
        for place, certificate in enumerate(peer.chain):
            if place and certificate.subject == certificate.issuer:
                continue  # the root is this machine's own
            name = "" if hides_names else certificate.subject
            day = day_of(certificate.ends)
            texts.append(
                Text("{name} until {day}", name=name or Text("certificate"), day=day)
            )
        return join_texts(texts, ", ")

    def _judge(self, call: Call, response: Response) -> ReportStep:
        self._status = response.status
        self._learn(response)
        if self._accepts(response.status):
            judged_by = self._context.without_echoed_marker(
                self._configuration, response
            )
            self._diagnosis = diagnose_success(
                response, judged_by, now=self._context.clock.now()
            )
            if self._diagnosis is None:
                self._doubt(response)
                return self._pass("request", self._success_text(call, response))
        else:
            self._diagnosis = self._diagnose_failure(call, response)
        self._record_request(call)
        if self._diagnosis is None:  # a success, where another status was expected
            self._diagnosis = Diagnosis(
                Cause.UNEXPECTED, Text("Check Accepted statuses and Test Path.")
            )
            return self._fail("request", _status_text(response.status))
        return self._fail("request", self._failure_text(response))

    def _doubt(self, response: Response) -> None:
        """Warn of a success that may be a refusal; it stays a success."""
        doubt = doubt_about_success(
            response, self._configuration, now=self._context.clock.now()
        )
        if doubt is not None:
            finding = DOUBTFUL_SUCCESS.finding("verification.test_path", sign=doubt)
            self._findings.append(finding)

    def _diagnose_failure(self, call: Call, response: Response) -> Diagnosis | None:
        anonymous = None
        if response.status in REFUSALS:
            anonymous = self._anonymous_response(call)
        return diagnose(
            response,
            self._context.without_echoed_marker(self._configuration, response),
            now=self._context.clock.now(),
            secret=self._context.opener(self._configuration),
            anonymous=anonymous,
        )

    def _accepts(self, status: int) -> bool:
        return accepts(self._configuration.verification.accepted_statuses, status)

    def _record_request(self, call: Call) -> None:
        """Store the request as it may be shown, unless its script fails now."""
        from outkey.sending.engine.exchange.preview import preview  # noqa: PLC0415

        with suppress(OutkeyError):
            self._preview = preview(self._context, call)

    def _learn(self, response: Response) -> None:
        """Store which schemes the server offers, and how far its clock is off."""
        challenges = parse_challenges(response.headers.get_all("WWW-Authenticate"))
        schemes = {challenge.scheme for challenge in challenges} & STORED_SCHEMES
        if schemes:
            self._seen["offered"] = sorted(schemes)
        offset = self._context.offsets.of(
            self._configuration.account,
            self._configuration.base.origin,
            self._context.clock,
        )
        self._seen["clock_offset"] = offset
        if abs(offset) > CLOCK_SKEW_SECONDS:
            row = CLOCK_AHEAD if offset > 0 else CLOCK_BEHIND
            self._findings.append(
                row.finding("verification.follow_clock", seconds=abs(offset))
            )

    def _failure_text(self, response: Response) -> Text:
        """Return the status and the message of the API, unless that repeats a secret.

        Long words are always removed: an API may derive an unrecognizable value from a
        secret. A draft quotes nothing: a user who may test but not see the secret could
        have the API repeat it.
        """
        message = remote_message(response)
        words = LONG_WORD.sub("…", message)
        if not self._ports.quotes or not words.strip("… "):
            return _status_text(response.status)
        if self._repeats_secret(response, message):
            return _status_text(response.status)
        return Text(
            "status {status}; the API says: {message}",
            status=response.status,
            message=shorten(words),
        )

    def _error_text(self, error: OutkeyError) -> Text:
        """Return the message of an error, with the words of the provider."""
        if isinstance(error, ProxyFailed):
            proxy, _ = self._context.proxies.shown_for(self._configuration)
            return Text("{message}: {proxy}", message=error.message, proxy=proxy)
        if not self._ports.quotes or not error.said:
            return error.message
        return Text(
            "{message}; the provider says: {said}",
            message=error.message,
            said=error.said,
        )

    def _repeats_secret(self, response: Response, message: str) -> bool:
        headers = [value for _, value in response.headers]
        body = response.text[:BODY_READ].replace("\\/", "/")
        return self._reveals_secret([message, body, headers], response)

    def _reveals_secret(self, value: object, response: Response | None = None) -> bool:
        """Whether a value repeats a secret; assumed if the secrets cannot be read."""
        try:
            secrets = sent_secrets(self._context, self._configuration, response)
        except OutkeyError:
            return True
        return reveals_secret(secrets, value)

    def _success_text(self, call: Call, response: Response) -> Text:
        """Describe a success, compared with the request without credentials."""
        if not self._compares(call):
            return _status_text(response.status)
        anonymous = self._anonymous_response(call)
        if anonymous is None:
            return Text(
                "status {status}; no response without credentials",
                status=response.status,
            )
        if self._accepts(anonymous.status):
            if self._differs(response, anonymous):
                return Text(
                    "status {status}; another response without credentials",
                    status=response.status,
                )
            self._findings.append(PROVES_NOTHING)
        return Text(
            "status {status}; status {other} without credentials",
            status=response.status,
            other=anonymous.status,
        )

    def _differs(self, response: Response, anonymous: Response) -> bool:
        """Whether an accepted response without credentials is really another one.

        A page may differ each time, so that only documents are compared. One that
        repeats the request differs by the credentials or by the names of their headers.
        """
        now = self._context.clock.now()
        if diagnose_success(anonymous, self._configuration, now=now) is not None:
            return True
        sent = sent_credentials(self._configuration, None)
        repeats_name = any(
            name in response.text.lower() for name in sent.headers | sent.parameters
        )
        return (
            have_other_content(response, anonymous)
            and not repeats_name
            and not self._repeats_secret(response, "")
        )

    def _compares(self, call: Call) -> bool:
        return (
            self._configuration.verification.compare
            and call.method in SAFE
            and self._configuration.sends_credentials
            and not self._configuration.tls.client_certificate
        )

    def _anonymous_response(self, call: Call) -> Response | None:
        """Return the response to the request without credentials, if it is sent."""
        if not self._compares(call):
            return None
        configuration = without_credentials(self._configuration)
        try:
            return self._ports.send(
                call._replace(configuration=configuration, purpose=COMPARISON)
            )
        except OutkeyError:
            return None

    def _pass(self, step: str, detail: Text) -> ReportStep:
        return self._add_step(step, detail, ok=True)

    def _fail(self, step: str, detail: Text) -> ReportStep:
        return self._add_step(step, detail, ok=False)

    def _add_step(self, step: str, detail: Text, *, ok: bool) -> ReportStep:
        now = self._context.clock.monotonic()
        report_step = ReportStep(step, ok, detail, round((now - self._started) * 1000))
        self._steps.append(report_step)
        self._started = now
        return report_step


def _is_refused_by_store(
    error: OutkeyError | None,
) -> TypeGuard[BackendUnavailable | SecretMissing]:
    """Whether an external store gave no secret, for a reason that has an id."""
    return isinstance(error, BackendUnavailable | SecretMissing) and bool(error.reason)


def _script_text(parts: ScriptParts) -> Text:
    """Return how many headers and parameters a script returned."""
    count = len(parts.headers)
    headers = counted(count, Text("1 header"), Text("{count} headers", count=count))
    count = len(parts.parameters)
    if not count:
        return headers
    text = Text("{count} parameters", count=count)
    return join_texts([headers, counted(count, Text("1 parameter"), text)], ", ")


def _status_text(status: int) -> Text:
    """Return a status as the detail of a step."""
    return Text("status {status}", status=status)
