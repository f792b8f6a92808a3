"""Testing a configuration: step by step, with the cause and the remedy of the first that fails."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple

from outkey.core.config.choices import AuthenticationType, NoAuthReason
from outkey.core.config.configuration import Configuration
from outkey.core.diagnosis import (
    Diagnosis,
    Suspicion,
    diagnose,
    diagnose_error,
    diagnose_success,
    remote_message,
    shorten,
)
from outkey.core.errors import Cause, OutkeyError
from outkey.core.findings.checks import Finding, Level, check, refuse_unsendable
from outkey.core.oauth2.token import AccessToken
from outkey.core.request.assembly import Call, authenticated
from outkey.core.request.challenge import parse_challenges
from outkey.core.request.message import Peer, Response
from outkey.core.text import Text, join_texts
from outkey.engine.sending.echoed_secrets import gives_away, sent_secrets
from outkey.engine.sending.preview import Preview, preview
from outkey.engine.sending.scripts import sign
from outkey.engine.wire.transmit import SendContext

SAFE = frozenset({"GET", "HEAD"})  # RFC 9110 §9.2.1: asking once more changes nothing
_CLOCK_SECONDS = 30
_LONG = re.compile(r"\S{24,}")
_READ = 16 * 1024  # what the words are taken from
# Of what a server offers only these are stored: anything else is its own text.
_SCHEMES = frozenset(
    {"basic", "bearer", "digest", "dpop", "hoba", "mutual", "negotiate", "ntlm"}
)
_PROVES_NOTHING = Finding(
    "W008",
    Level.WARNING,
    Text(
        "the test request succeeds without credentials too, so it proves nothing about"
        " them"
    ),
    Text("Set Test Path to one that needs credentials, such as the account itself."),
    "verification.test_path",
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a test."""

    step: str
    ok: bool
    detail: Text
    ms: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a test found. `status` is None where no answer came.

    `suspicions` are ranked; the first one is what cause and remedy say. `seen` is what is worth
    remembering of the other side.
    """

    configuration: str
    ok: bool
    steps: tuple[Step, ...]
    status: int | None
    cause: Cause | None
    remedy: Text | None
    findings: tuple[Finding, ...]
    error: OutkeyError | None = None  # what was raised, where nothing came back
    suspicions: tuple[Suspicion, ...] = ()
    seen: dict[str, object] = field(default_factory=dict)
    sent: Preview | None = None  # the request that failed, masked

    @property
    def code(self) -> str:
        """The code of what was raised, where it says more than the cause."""
        code = str(self.error.code) if self.error else ""
        return "" if code == self.cause else code

    @property
    def proves_nothing(self) -> bool:
        """Whether the answer is the same for everybody."""
        return self.ok and _PROVES_NOTHING in self.findings


class Means(NamedTuple):
    """What a test reaches the world by."""

    send: Callable[[Call], Response]
    ready: Callable[[], AccessToken]
    look: Callable[[], Peer]
    quotes: bool


class Trial:
    """One test of one configuration. It never retries.

    At most one request has credentials; another one, without them, may follow a success or a 404.
    """

    def __init__(
        self, sender: SendContext, configuration: Configuration, means: Means
    ) -> None:
        self._sender, self._configuration, self._means = sender, configuration, means
        self._steps: list[Step] = []
        self._findings: list[Finding] = []
        self._seen: dict[str, object] = {}
        self._status: int | None = None
        self._error: OutkeyError | None = None
        self._found: Diagnosis | None = None
        self._sent_as: Preview | None = None
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
            yield self._done(step, Text("complete"))
            step = "secrets"
            self._open_secrets(call)
            yield self._done(step, Text("all present"))
            if self._configuration.uses_oauth2:
                step = "token"
                kind = self._means.ready().kind
                yield self._done(step, Text("{kind} token present", kind=kind))
            if self._configuration.is_scripted:
                step = "script"
                count = len(sign(self._sender, self._configuration, "", call.request()))
                yield self._done(step, Text("{count} headers", count=count))
            step = "connect"
            yield self._done(step, self._met(self._means.look()))
            step = "request"
            response = self._means.send(call)
        except OutkeyError as error:
            self._error = error
            now, met = self._sender.clock.now(), step == "request"
            self._found = diagnose_error(error, self._configuration, now=now, met=met)
            if met:
                self._show(call)
            yield self._failed(step, error.message)
        else:
            yield self._judged(call, response)

    def report(self) -> Report:
        """Return what the steps found."""
        configuration, found = self._configuration, self._found
        secret = self._sender.opener(configuration)
        findings = check(configuration, secret, now=self._sender.clock.now())
        shown = [
            finding for finding in findings if finding.level is not Level.ERROR or found
        ]
        return Report(
            configuration=configuration.name,
            ok=found is None,
            steps=tuple(self._steps),
            status=self._status,
            cause=found.cause if found else None,
            remedy=found.remedy if found else None,
            findings=(*shown, *self._findings),
            error=self._error,
            suspicions=(
                tuple(map(self._within_reach, found.suspicions)) if found else ()
            ),
            seen=self._seen,
            sent=self._sent_as,
        )

    def _within_reach(self, suspicion: Suspicion) -> Suspicion:
        """Leave out a fix of a value that is kept elsewhere."""
        state = (
            self._configuration.secrets.get(suspicion.fix.tidied)
            if suspicion.fix
            else None
        )
        if state is not None and state.reference is not None:
            return replace(suspicion, fix=None)
        return suspicion

    def _checked(self) -> Call:
        refuse_unsendable(self._configuration)
        verification = self._configuration.verification
        call = Call(
            self._configuration, verification.test_method, verification.test_path
        )
        call.request()
        return call

    def _open_secrets(self, call: Call) -> None:
        secret = self._sender.opener(self._configuration)
        for name in self._configuration.needed_secrets():
            secret(name)
        authenticated(call.request(), self._configuration, secret)

    def _met(self, peer: Peer) -> Text:
        """Describe the server, and record the facts that the doctor checks."""
        if not peer.tls:
            return Text("{address}, without TLS", address=peer.address)
        self._seen |= {"tls": peer.tls, "certificate_ends": peer.ends}
        texts = [Text("{address}, {tls}", address=peer.address, tls=peer.tls)]
        # A server that was sent a secret before can get a certificate in its name.
        unnamed = self._gives_away([certificate.subject for certificate in peer.chain])
        for place, certificate in enumerate(peer.chain):
            if place and certificate.subject == certificate.issuer:
                continue  # the root is this machine's own
            day = datetime.fromtimestamp(certificate.ends, UTC).date()
            name = "" if unnamed else certificate.subject
            texts.append(
                Text("{name} until {day}", name=name or Text("certificate"), day=day)
            )
        return join_texts(texts, ", ")

    def _judged(self, call: Call, response: Response) -> Step:
        self._status = response.status
        self._learn(response)
        now, secret = self._sender.clock.now(), self._sender.opener(self._configuration)
        if accepts(self._configuration.verification.accepted_statuses, response.status):
            self._found = diagnose_success(response, self._configuration, now=now)
            if self._found is None:
                return self._done("request", self._accepted(call, response))
        else:
            other = self._anonymously(call) if response.status == 404 else None
            judged_by = self._sender.without_echoed_marker(
                self._configuration, response
            )
            self._found = diagnose(
                response, judged_by, now=now, secret=secret, anonymous=other
            )
        self._show(call)
        if self._found is None:  # an answer that succeeded, where another was expected
            self._found = Diagnosis(
                Cause.UNEXPECTED, Text("Check Accepted statuses and Test Path.")
            )
            return self._failed("request", status_text(response.status))
        return self._failed("request", self._quoted(response))

    def _show(self, call: Call) -> None:
        """Keep the request as it may be shown; a script may have failed meanwhile."""
        with suppress(OutkeyError):
            self._sent_as = preview(self._sender, call)

    def _learn(self, response: Response) -> None:
        challenges = parse_challenges(response.headers.get_all("WWW-Authenticate"))
        offered = {challenge.scheme for challenge in challenges} & _SCHEMES
        if offered:
            self._seen["offered"] = sorted(offered)
        name, origin = self._configuration.name, self._configuration.base.origin
        offset = self._sender.offsets.of(name, origin, self._sender.clock)
        self._seen["clock_offset"] = offset
        if abs(offset) > _CLOCK_SECONDS:
            self._findings.append(_clock_finding(offset))

    def _quoted(self, response: Response) -> Text:
        """Return the status and the message of the API, unless that repeats a secret.

        Long words are always removed: an API may derive an unrecognizable value from a
        secret. A draft quotes nothing: a user who may test but not see the secret could
        have the API repeat it.
        """
        message = remote_message(response)
        if (
            not self._means.quotes
            or not message
            or self._repeats_secret(response, message)
        ):
            return status_text(response.status)
        return Text(
            "status {status}; the API says: {message}",
            status=response.status,
            message=shorten(_LONG.sub("…", message)),
        )

    def _repeats_secret(self, response: Response, words: str) -> bool:
        headers = [value for _, value in response.headers]
        body = response.text[:_READ].replace("\\/", "/")
        return self._gives_away([words, body, headers], response)

    def _gives_away(self, value: object, response: Response | None = None) -> bool:
        """Tell whether a value repeats a secret; assumed where the secrets cannot be read."""
        try:
            secrets = sent_secrets(self._sender, self._configuration, response)
        except OutkeyError:
            return True
        return gives_away(secrets, value)

    def _accepted(self, call: Call, response: Response) -> Text:
        if not self._compares(call):
            return status_text(response.status)
        other = self._anonymously(call)
        if other is None:
            return Text(
                "status {status}; no response without credentials",
                status=response.status,
            )
        if accepts(self._configuration.verification.accepted_statuses, other):
            self._findings.append(_PROVES_NOTHING)
        return Text(
            "status {status}; status {other} without credentials",
            status=response.status,
            other=other,
        )

    def _compares(self, call: Call) -> bool:
        return (
            self._configuration.verification.compare
            and call.method in SAFE
            and self._configuration.sends_credentials
            and not self._configuration.tls.client_certificate
        )

    def _anonymously(self, call: Call) -> int | None:
        """Return the status that the request gets without credentials, if any may be asked for."""
        if not self._compares(call):
            return None
        try:
            asked = call._replace(configuration=_anonymous(self._configuration))
            return self._means.send(asked).status
        except OutkeyError:
            return None

    def _done(self, step: str, detail: Text) -> Step:
        return self._note(step, detail, ok=True)

    def _failed(self, step: str, detail: Text) -> Step:
        return self._note(step, detail, ok=False)

    def _note(self, step: str, detail: Text, *, ok: bool) -> Step:
        now = self._sender.clock.monotonic()
        noted = Step(step, ok, detail, round((now - self._started) * 1000))
        self._steps.append(noted)
        self._started = now
        return noted


def _anonymous(configuration: Configuration) -> Configuration:
    """Return the configuration without anything that proves who sends."""
    return replace(
        configuration,
        record="",  # so changed, it is not what is stored
        authentication_type=AuthenticationType.NONE,
        no_auth_reason=NoAuthReason.PUBLIC_API,
        headers=tuple(row for row in configuration.headers if not row.secret),
        script_enabled=False,
    )


def status_text(status: int) -> Text:
    """Return a status as the detail of a step."""
    return Text("status {status}", status=status)


def _clock_finding(offset: int) -> Finding:
    message = Text("the clock of the API is {seconds} s ahead", seconds=offset)
    if offset < 0:
        message = Text("the clock of the API is {seconds} s behind", seconds=-offset)
    return Finding(
        "W007",
        Level.WARNING,
        message,
        Text(
            "Correct the clock of this machine (NTP), or switch on Use the API's clock."
        ),
        "verification.follow_clock",
    )


def accepts(statuses: str, status: int) -> bool:
    """Tell whether a status is among those of a text such as `200-299, 404`."""
    for part in statuses.split(","):
        first, _, last = part.strip().partition("-")
        if int(first) <= status <= int(last or first):
            return True
    return False
