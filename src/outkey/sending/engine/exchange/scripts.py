"""Running a configuration's script: to sign a request, as a trial, for its examples."""

from collections.abc import Iterable
from dataclasses import dataclass
from shlex import quote

from outkey.foundation.core.errors import (
    ConfigError,
    OutkeyError,
    ScriptFailed,
    SecretMissing,
)
from outkey.foundation.core.origin import parse_url
from outkey.foundation.core.script_syntax import Example, check_imports, examples
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.drafts import naming
from outkey.sending.core.connections.naming import (
    refuse_missing_connection,
)
from outkey.sending.core.request.assembly import call_of_test
from outkey.sending.core.request.message import Request
from outkey.sending.core.request.script import (
    MAX_BODY,
    SCRIPT_FACT,
    Pairs,
    ScriptCall,
    ScriptParts,
    script_parts,
    secret_digest,
    visible_headers,
)
from outkey.sending.engine.wire.context import SendContext

_EXAMPLES_SECONDS = 5


@dataclass(frozen=True, slots=True)
class ScriptTrial:
    """The result of running a script once: names and lengths, never a value.

    Its time is that of the whole trial, with the start of a process, which a request
    rarely has.
    """

    ok: bool
    headers: tuple[tuple[str, int], ...]
    ms: float
    error: OutkeyError | None = None
    query: tuple[tuple[str, int], ...] = ()


def sign(
    context: SendContext, configuration: Configuration, line: str, request: Request
) -> ScriptParts:
    """Return what the script adds to a request."""
    secret = script_secret(context, configuration)
    call = _script_call(
        configuration,
        request.url,
        request.target,
        method=request.method,
        headers=visible_headers(request),
        body=request.body if isinstance(request.body, bytes) else b"",
        line=line,
        secret=secret,
        shift=context.shift(configuration, request.origin),
    )
    return script_parts(context.scripts.run(call), secret)


def try_script(
    context: SendContext, configuration: Configuration, at: float | None = None
) -> ScriptTrial:
    """Run the script once for the test request, with its clock stopped at `at`.

    It runs in a process of its own, which ends afterwards.
    """
    clock = context.clock
    moment = clock.now() if at is None else at
    started = clock.monotonic()
    parts = ScriptParts()
    failure = None
    try:
        refuse_missing_connection(configuration)
        if not configuration.script:
            raise ConfigError(Text("this configuration has no script"), field="script")
        secret = script_secret(context, configuration)
        request = call_of_test(configuration).request()
        call = _script_call(
            configuration,
            request.url,
            request.target,
            method=request.method,
            headers=visible_headers(request),
            body=configuration.verification.test_body.encode(),
            secret=secret,
            at=moment,
        )
        parts = script_parts(context.scripts.run(call), secret)
    except OutkeyError as error:
        failure = error
    return ScriptTrial(
        ok=failure is None,
        headers=tuple((name, _length_of(value)) for name, value, _ in parts.headers),
        query=tuple((name, value.wire_length) for name, value in parts.parameters),
        ms=round((clock.monotonic() - started) * 1000, 3),
        error=failure,
    )


def prove_examples(
    context: SendContext, configurations: Iterable[Configuration]
) -> None:
    """Refuse scripts with forbidden imports, or whose examples give other results."""
    for configuration in configurations:
        if not configuration.script:
            continue
        with naming(configuration.name):
            check_imports(configuration.script)
        deadline = context.clock.monotonic() + _EXAMPLES_SECONDS
        for number, example in enumerate(examples(configuration.script), start=1):
            if context.clock.monotonic() > deadline:
                raise ScriptFailed(
                    Text(
                        "configuration {name}: the examples of GOLDEN take longer than"
                        " {seconds} s",
                        name=configuration.name,
                        seconds=_EXAMPLES_SECONDS,
                    ),
                    hint=Text("Use fewer examples, or make the script faster."),
                )
            returned = _run_example(context, configuration, example)
            expected = tuple(
                {name: Secret(text) for name, text in texts.items()}
                for texts in (example.expect, example.expect_query)
            )
            if returned != expected:
                raise ScriptFailed(
                    Text(
                        "configuration {name}: example {number} of GOLDEN returns other"
                        " headers or parameters than it expects",
                        name=configuration.name,
                        number=number,
                    ),
                    hint=Text("Correct the script, or the example."),
                )


def _run_example(
    context: SendContext, configuration: Configuration, example: Example
) -> tuple[dict[str, Secret], dict[str, Secret]]:
    """Return the headers and parameters of a script for one of its own examples."""
    secret = Secret(example.secret)
    location = parse_url(example.url)
    call = _script_call(
        configuration,
        str(location),
        location.target,
        method=example.method,
        body=example.body,
        line=example.name,
        secret=secret,
        at=example.at,
    )
    parts = script_parts(context.scripts.run(call), secret)
    headers = {name: _as_secret(value) for name, value, _ in parts.headers}
    return headers, dict(parts.parameters)


def _script_call(  # noqa: PLR0913 - the parts of a request
    configuration: Configuration,
    url: str,
    target: str,
    *,
    method: str,
    secret: Secret | None,
    headers: Pairs = (),
    body: bytes = b"",
    line: str = "",
    at: float | None = None,
    shift: int = 0,
) -> ScriptCall:
    """Return one run of a configuration's script for a request."""
    if len(body) > MAX_BODY:
        raise ScriptFailed(Text("the body of the request is too large for a script"))
    path, _, query = target.partition("?")
    return ScriptCall(
        # A draft has another name, and so a process of its own.
        place=f"{configuration.record} {configuration.name}",
        source=configuration.script,
        secret=secret,
        name=line,
        configuration=configuration.name,
        connection=configuration.connection_id,
        base_url=configuration.base_url,
        username=configuration.username,
        method=method,
        url=url,
        path=path,
        query=query,
        headers=headers,
        body=body,
        at=at,
        shift=shift,
    )


def script_secret(context: SendContext, configuration: Configuration) -> Secret | None:
    """Return the secret that the script is given, if it is the script that was saved.

    A script that was written into the database without the key must not compute with a
    secret.
    """
    if not is_vouched(context, configuration):
        raise ScriptFailed(
            Text("the script was changed outside of outkey"),
            hint=Text(
                "Review it. An operator can accept it with: outkey secret confirm"
                " {name}",
                name=quote(configuration.name),
            ),
        )
    name = configuration.script_secret
    return None if name is None else context.open(configuration, name)


def is_vouched(context: SendContext, configuration: Configuration) -> bool:
    """Whether the script is the one that was saved, not one put into the database."""
    if configuration.script_is_vouched:
        return True
    if context.vouched_scripts.has(context.secrets, configuration):
        return True
    try:
        saved_digest = context.secrets.open(configuration, SCRIPT_FACT)
        is_saved = saved_digest == secret_digest(configuration.script)
    except SecretMissing:
        is_saved = not configuration.record  # a file has no voucher
    if is_saved:
        context.vouched_scripts.add(context.secrets, configuration)
    return is_saved


def _length_of(value: str | Secret) -> int:
    """Return how many characters a header's value has."""
    return value.wire_length if isinstance(value, Secret) else len(value)


def _as_secret(value: str | Secret) -> Secret:
    """Return a header's value as a secret."""
    return value if isinstance(value, Secret) else Secret(value)
