"""The commands that preview and send one request."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.cli.input import read_data, read_reference, split_header
from outkey.hosts.cli.printing.output import (
    print_findings,
    print_json,
    print_line,
    print_table,
    warn,
)
from outkey.hosts.cli.printing.presenters import (
    pause_text,
    print_response,
    response_facts,
)
from outkey.hosts.cli.session import (
    AsJson,
    ConnectionId,
    Name,
    SubjectToken,
    open_application,
)
from outkey.hosts.preview_facts import preview_facts
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.request.message import Response, ResponseHeaders
from outkey.sending.engine.exchange.calls import find_account
from outkey.sending.engine.exchange.echoed_secrets import sent_secrets

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application


def preview(
    name: Name,
    method: Annotated[str, typer.Argument(help="The method of the request.")] = "GET",
    path: Annotated[
        str | None,
        typer.Argument(help="The path below Base URL. Without one, the test path."),
    ] = None,
    *,
    connection: ConnectionId = None,
    curl: Annotated[
        bool,
        typer.Option(
            "--curl",
            help="Print a curl command, with a shell variable for each secret.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the exact request with masked secrets, without sending it.

    It names the source of every header, gets no token and opens no connection. A
    signing script is run.
    """
    if path is None and method.startswith("/"):
        path = method
        method = "GET"
    request = open_application().gateway.preview(
        name, method, path, connection=connection
    )
    if curl:
        print_line(request.curl())
    elif as_json:
        print_json(preview_facts(request, name))
    else:
        print_line(f"{request.method} {request.url}")
        if request.proxy:
            print_line(f"through the proxy {request.proxy}")
        print_table(("Header", "Value", "Source"), request.headers)
        if request.note:
            print_line(request.note)
        print_findings((name, finding) for finding in request.findings)


def request(  # noqa: PLR0913 - the options of an authenticated curl
    name: Name,
    target: Annotated[
        list[str],
        typer.Argument(
            metavar="[METHOD] PATH",
            help="The path below Base URL. Write a method before it unless it is GET.",
        ),
    ],
    *,
    connection: ConnectionId = None,
    data: Annotated[
        str | None,
        typer.Option(
            help="The body: a text, @FILE, or - for standard input.", metavar="DATA"
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            help="A header of this request. Repeat it for more than one.",
            metavar="KEY:VALUE",
        ),
    ] = None,
    include: Annotated[
        bool,
        typer.Option(
            "--include", help="Print the status and the headers before the body."
        ),
    ] = False,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help="Print the body as it was received: not masked, not formatted.",
        ),
    ] = False,
    subject_token: SubjectToken = None,
    as_json: AsJson = False,
) -> int:
    """Send one authenticated request and print the response.

    On a terminal, JSON is formatted and the output
    ends with a line break; in a pipe or a file, the body has exactly the bytes of the
    response. Secrets that the API repeats are masked in both, unless --raw is given.
    """
    if len(target) > 2:
        raise ConfigError(
            Text("too many arguments"), hint=Text("outkey request NAME [METHOD] PATH")
        )
    application = open_application()
    response = application.gateway.send(
        name,
        target[0] if len(target) == 2 else "GET",
        target[-1],
        data=None if data is None else read_data(data),
        headers=dict(split_header(line) for line in header or []),
        subject_token=read_reference(subject_token),
        connection=connection,
    )
    configuration = find_account(application.registry, name, connection)
    if not raw:
        response = _mask_echoes(application, configuration, response)
    if as_json:
        print_json(response_facts(response))
    else:
        print_response(response, include=include, raw=raw)
        if response.status == 401 and configuration.paused:
            warn(f"sending is paused now: {pause_text(configuration)}")
    return 0 if response.cause is None else 1


def _mask_echoes(
    application: "Application", configuration: Configuration, response: Response
) -> Response:
    """Mask in body and headers what the API repeats of the secrets it was sent."""
    from outkey.foundation.core.echo.masking import scrub, scrub_headers
    from outkey.foundation.core.secret import MASK

    secrets = sent_secrets(application.sender.context, configuration, response)
    username = configuration.username
    pairs = scrub_headers(response.headers, secrets, username)
    body = scrub(response.body, secrets, username)
    if body == MASK.encode() != response.body:
        sys.stderr.write(
            "the response repeats a secret in a form that cannot be masked in place;"
            " --raw prints the whole body\n"
        )
    return replace(response, headers=ResponseHeaders(pairs), body=body)
