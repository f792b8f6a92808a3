"""Running a configuration's script: for a request on its way, for a trial, and for its examples."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from outkey.core.config.configuration import Configuration
from outkey.core.errors import ConfigError, OutkeyError, ScriptFailed, SecretMissing
from outkey.core.request.message import Header, Request
from outkey.core.request.origin import Location, parse_url
from outkey.core.request.script import (
    MAX_BODY,
    SEAL,
    Example,
    ScriptCall,
    check_imports,
    examples,
    headers_of,
    seal_of,
)
from outkey.core.secret import Secret
from outkey.core.text import Text
from outkey.engine.wire.transmit import SendContext

_EXAMPLES_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Tried:
    """What a trial of a script gave: names and lengths, never a value.

    Its time is that of the whole trial, with the start of a process, which a request rarely has.
    """

    ok: bool
    headers: tuple[tuple[str, int], ...]
    ms: float
    error: OutkeyError | None = None


def signed(
    sender: SendContext, configuration: Configuration, line: str, request: Request
) -> tuple[Header, ...]:
    """Return the headers that the script makes for a request."""
    secret = _secret(sender, configuration)
    body = request.body if isinstance(request.body, bytes) else b""
    location = Location(request.origin, request.target)
    call = _call(configuration, line, request.method, location, body, secret=secret)
    call = replace(call, shift=sender.shift(configuration, request.origin))
    return headers_of(sender.scripts.run(call), secret)


def try_script(
    sender: SendContext, configuration: Configuration, at: float | None
) -> Tried:
    """Run the script once for the test request, with the clock stopped at a moment if one is given.

    It runs in a process of its own, which ends afterwards.
    """
    clock, verification = sender.clock, configuration.verification
    moment = clock.now() if at is None else at
    started = clock.monotonic()
    try:
        _refuse_missing(configuration)
        secret = _secret(sender, configuration)
        url = (
            str(configuration.base.origin)
            + configuration.base.target
            + verification.test_path
        )
        method = verification.test_method
        call = _call(
            configuration, "", method, parse_url(url), b"", secret=secret, at=moment
        )
        made = headers_of(sender.scripts.run(call), secret)
    except OutkeyError as error:
        return Tried(ok=False, headers=(), ms=_passed(sender, started), error=error)
    lengths = tuple((header.name, _length(header)) for header in made)
    return Tried(ok=True, headers=lengths, ms=_passed(sender, started))


def prove_examples(
    sender: SendContext, configurations: Iterable[Configuration]
) -> None:
    """Refuse scripts that import what they cannot have, or whose examples give something else."""
    for configuration in configurations:
        if not configuration.script:
            continue
        _check_imports(configuration)
        ends = sender.clock.monotonic() + _EXAMPLES_SECONDS
        for number, example in enumerate(examples(configuration.script), start=1):
            if sender.clock.monotonic() > ends:
                raise ScriptFailed(
                    Text(
                        "configuration {name}: the examples of GOLDEN take longer than"
                        " {seconds} s",
                        name=configuration.name,
                        seconds=_EXAMPLES_SECONDS,
                    ),
                    hint=Text("Use fewer examples, or make the script faster."),
                )
            made = _run_example(sender, configuration, example)
            wrong = [
                name
                for name, text in example.expect.items()
                if made.get(name) != Secret(text)
            ]
            if wrong or len(made) != len(example.expect):
                raise ScriptFailed(
                    Text(
                        "configuration {name}: example {number} of GOLDEN returns other"
                        " headers than it expects",
                        name=configuration.name,
                        number=number,
                    ),
                    hint=Text("Correct the script, or the example."),
                )


def _check_imports(configuration: Configuration) -> None:
    try:
        check_imports(configuration.script)
    except ConfigError as error:
        message = Text(
            "configuration {name}: {problem}",
            name=configuration.name,
            problem=error.message,
        )
        raise ConfigError(message, hint=error.hint, field=error.field) from None


def _run_example(
    sender: SendContext, configuration: Configuration, example: Example
) -> dict[str, Secret]:
    secret = Secret(example.secret)
    location = parse_url(example.url)
    call = _call(
        configuration,
        example.name,
        example.method,
        location,
        example.body,
        secret=secret,
        at=example.at,
    )
    return {
        header.name: _text(header)
        for header in headers_of(sender.scripts.run(call), secret)
    }


def _call(  # noqa: PLR0913 - the parts of a request
    configuration: Configuration,
    line: str,
    method: str,
    location: Location,
    body: bytes,
    *,
    secret: Secret | None,
    at: float | None = None,
) -> ScriptCall:
    if len(body) > MAX_BODY:
        raise ScriptFailed(Text("the body of the request is too large for a script"))
    path, _, query = location.target.partition("?")
    return ScriptCall(
        place=f"{configuration.record} {configuration.name}",  # a draft has another name
        source=configuration.script,
        secret=secret,
        name=line,
        configuration=configuration.name,
        base_url=configuration.base_url,
        username=configuration.username,
        method=method,
        url=f"{location.origin}{location.target}",
        path=path,
        query=query,
        body=body,
        at=at,
    )


def _secret(sender: SendContext, configuration: Configuration) -> Secret | None:
    """Return the secret that the script is given, unless somebody else has put the script there.

    Whoever can write to the database, and has no key, must not have a secret computed with.
    """
    if not is_vouched(sender, configuration):
        raise ScriptFailed(
            Text("the script was changed outside of outkey"),
            hint=Text(
                "Review it. An operator can accept it with: outkey secret confirm NAME"
            ),
        )
    name = configuration.script_secret
    return None if name is None else sender.open(configuration, name)


def is_vouched(sender: SendContext, configuration: Configuration) -> bool:
    """Tell whether the script is the one that was saved, and not one written into the database."""
    if configuration.script_is_vouched:
        return True
    try:
        return sender.secrets.open(configuration, SEAL) == seal_of(configuration.script)
    except SecretMissing:
        return not configuration.record  # of a file, which is its own witness


def _refuse_missing(configuration: Configuration) -> None:
    if not configuration.script:
        raise ConfigError(Text("this configuration has no script"), field="script")


def _length(header: Header) -> int:
    return (
        header.value.wire_length
        if isinstance(header.value, Secret)
        else len(header.value)
    )


def _text(header: Header) -> Secret:
    return header.value if isinstance(header.value, Secret) else Secret(header.value)


def _passed(sender: SendContext, started: float) -> float:
    return round((sender.clock.monotonic() - started) * 1000, 3)
