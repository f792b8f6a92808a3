"""The page of the Python interface: what is public, and where autodoc puts it.

Signatures, fields and docstrings are read from the code when the handbook is built;
this page only says which names there are. What is not in `MODULES` may change without
notice.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass

from reference_django import configure_django

BEGINNING = """\
# Python interface

These names are public: a change that breaks a program which uses them is announced in \
the changelog. Anything else may change without notice.

`import outkey` loads nothing but what you use, so it is fast and needs no Django.
"""


@dataclass(frozen=True)
class PublicModule:
    """A module with public names: those in `names`, or else its `__all__`."""

    module: str
    title: str
    text: str
    names: tuple[str, ...] = ()

    def public_names(self) -> list[str]:
        """Return the names, without modules that have a section of their own."""
        names = self.names or importlib.import_module(self.module).__all__
        sections = {other.module for other in MODULES}
        return [
            name for name in names if not is_section(f"{self.module}.{name}", sections)
        ]


def is_section(path: str, sections: set[str]) -> bool:
    """Whether a name is a module that the page has a section for."""
    return any(
        section == path or section.startswith(f"{path}.") for section in sections
    )


MODULES = (
    PublicModule(
        "outkey",
        "outkey",
        "Open a gateway and send. [Sending](../guide/sending.md) shows how.",
    ),
    PublicModule(
        "outkey.sending.engine.exchange.calls",
        "Arguments of a send",
        "The keyword arguments of `Gateway.send`, `asend` and `preview`.",
        ("RequestContent", "SendOptions"),
    ),
    PublicModule(
        "outkey.sending.core.request.message",
        "Headers of a response",
        "",
        ("ResponseHeaders",),
    ),
    PublicModule(
        "outkey.sending.engine.exchange.preview",
        "Results of a preview",
        "What `Gateway.preview` returns.",
        ("Preview", "PreviewHeader"),
    ),
    PublicModule(
        "outkey.sending.engine.connection_test",
        "Results of a test",
        "What `Gateway.test` returns. [Testing](../guide/testing.md) explains it.",
        ("Report", "ReportStep"),
    ),
    PublicModule(
        "outkey.sending.core.diagnosis.evidence",
        "Likely reasons",
        "",
        ("Suspicion",),
    ),
    PublicModule(
        "outkey.foundation.core.findings.checks",
        "Findings",
        "What a check of a configuration reports. [Findings](findings.md) lists them.",
        ("Finding", "Level"),
    ),
    PublicModule(
        "outkey.foundation.core.text",
        "Texts",
        "",
        ("Text",),
    ),
    PublicModule(
        "outkey.sending.engine.exchange.lend",
        "Credentials for other clients",
        "What `Gateway.lend` returns, for an HTTP client that has no integration.",
        ("Loan",),
    ),
    PublicModule(
        "outkey.integrations.httpx",
        "outkey.integrations.httpx",
        "[Other HTTP clients](../guide/sending.md#other-http-clients) shows how.",
    ),
    PublicModule("outkey.integrations.httpx2", "outkey.integrations.httpx2", ""),
    PublicModule("outkey.integrations.requests", "outkey.integrations.requests", ""),
    PublicModule(
        "outkey.errors",
        "outkey.errors",
        "Every error is an `OutkeyError`. [Errors and causes](errors.md) lists the "
        "codes, hints and causes.",
    ),
    PublicModule(
        "outkey.testing",
        "outkey.testing",
        "Fakes for tests of your own code. "
        "[Writing a host or an adapter](../guide/writing-a-host.md) shows how.",
    ),
    PublicModule(
        "outkey.testing.canary",
        "outkey.testing.canary",
        "A pytest plugin that finds secrets in output, logs and files.",
        ("Canaries", "canary"),
    ),
    PublicModule(
        "outkey.hosts.importing",
        "Importing",
        "[Importing](../guide/import.md#in-python) shows how.",
        ("read_import",),
    ),
    PublicModule(
        "outkey.hosts.django.wiring",
        "In a Django project",
        "[In your Django project](../guide/in-your-project.md) shows how.",
        ("install", "records"),
    ),
    PublicModule(
        "outkey.hosts.django.pages.access",
        "The installation of a Django project",
        "",
        ("installation",),
    ),
    PublicModule(
        "outkey.hosts.server.background",
        "Monitoring in a process of your own",
        "[Monitoring](../guide/watch.md) shows how.",
        ("Background",),
    ),
    PublicModule(
        "outkey.webhooks.engine.work",
        "Handlers of webhooks",
        "What a handler gets. [Webhooks](../guide/webhooks.md) shows how.",
        ("ReceivedEvent",),
    ),
    PublicModule(
        "outkey.hosts.installation",
        "A host with a database",
        "[Writing a host or an adapter](../guide/writing-a-host.md) shows how.",
        ("Tables", "build_application"),
    ),
    PublicModule(
        "outkey.hosts.command_host",
        "The command line of a host",
        "",
        ("CommandHost",),
    ),
    PublicModule("outkey.hosts.cli.main", "Running a command", "", ("run",)),
    PublicModule(
        "outkey.administration.engine.application",
        "The application",
        "Everything that pages, commands and background work need.",
        ("Application",),
    ),
)


def python_page() -> Iterator[str]:
    """Yield the page."""
    configure_django()
    yield BEGINNING
    for module in MODULES:
        yield f"## {module.title}\n"
        if module.text:
            yield f"{module.text}\n"
        yield "```{eval-rst}"
        for name in module.public_names():
            yield from directive(module, name)
        yield "```\n"


def directive(module: PublicModule, name: str) -> Iterator[str]:
    """Yield the directive that documents one name."""
    value = getattr(importlib.import_module(module.module), name)
    if not isinstance(value, type):
        yield f".. autofunction:: {module.module}.{name}\n"
        return
    yield f".. autoclass:: {module.module}.{name}"
    yield "   :members:"
    yield "   :undoc-members:"
    if value.__bases__ != (object,):
        yield "   :show-inheritance:"
    yield ""
