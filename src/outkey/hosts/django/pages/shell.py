"""Shared by all pages: the frame, the errors, and the limit on concurrent tests."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from functools import wraps
from typing import TypeVar
from uuid import UUID

from django.contrib import admin
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from outkey.foundation.core.errors import (
    ConfigError,
    HostError,
    OutkeyError,
    UnknownConfiguration,
)
from outkey.foundation.core.text import Text
from outkey.hosts.django import models
from outkey.hosts.django.pages.access import (
    installation,
    is_sealed,
    visible,
)
from outkey.hosts.django.pages.posted_text import refuse_nul
from outkey.hosts.django.translation import translate_text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.fields import secret_label

Part = TypeVar("Part", str, bytes)
# Tests wait for remote servers; they must leave threads for the other pages.
running_tests = threading.BoundedSemaphore(12)
OFFERED_CONFIGURATIONS = 1000

# The class of a message that asks for a test; a script hides it after a good one.
UNTIL_TESTED = "ok-until-tested"


def page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, object],
    status: int = 200,
) -> HttpResponse:
    """Render a page inside the admin site."""
    frame = {
        **admin.site.each_context(request),
        "sealed": is_sealed(),
        "on_hold": is_on_hold(),
    }
    return render(request, template, {**frame, **context}, status=status)


def is_on_hold() -> bool:
    """Whether the installation was restored and not resumed yet, if that is known."""
    try:
        return installation().is_on_hold()
    except HostError:  # the page reports that the database does not respond
        return False


def errors_as_page(
    view: Callable[..., HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """Show errors of outkey as a page: 503 for its storage and keys, 422 for others."""

    @wraps(view)
    def show(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        try:
            refuse_nul(request)
            return view(request, *args, **kwargs)
        except OutkeyError as error:
            status = 503 if isinstance(error, HostError) else 422
            context = {"title": _("This could not be done"), "errors": [error]}
            return page(request, "outkey/problem.html", context, status=status)

    return show


@contextmanager
def limited_concurrency(
    places: threading.BoundedSemaphore = running_tests,
) -> Iterator[None]:
    """Hold one of the places for work that waits, or refuse it if all are taken."""
    if not places.acquire(blocking=False):
        message = Text("many tests are running")
        hint = Text("Retry when they have ended.")
        raise ConfigError(message, hint=hint)
    try:
        yield
    finally:
        places.release()


def message_of(error: OutkeyError) -> str:
    """Return an error's message and hint as sentences in the user's language."""
    message = capfirst(translate_text(error.message))
    sentences = [f"{message}."]
    if error.said:
        said = Text("The provider says: {said}.", said=error.said)
        sentences.append(translate_text(said))
    if error.hint:
        sentences.append(translate_text(error.hint))
    return " ".join(sentences)


def find_configuration(record: UUID) -> Configuration | None:
    """Return the configuration of a record, or None."""
    row = visible(models.Configuration).filter(pk=record).first()
    if row is None:
        return None
    try:
        return installation().registry.get(row.name)
    except UnknownConfiguration:
        return None


def configuration_at(record: UUID) -> Configuration:
    """Return the configuration of a page, or respond with 404."""
    configuration = find_configuration(record)
    if configuration is None:
        raise Http404
    return configuration


def next_step(configuration: Configuration) -> str:
    """Return the next step after saving: enter missing secrets, then test."""
    missing = configuration.unset_secrets()
    if not missing:
        return _("Run a connection test.")
    fields = ", ".join(translate_text(secret_label(name)) for name in missing)
    return _("Enter %s, then run a connection test.") % fields


def configuration_names() -> list[str]:
    """Return the names of configurations that a form offers."""
    names = (
        visible(models.Configuration).order_by("name").values_list("name", flat=True)
    )
    return list(names[:OFFERED_CONFIGURATIONS])


def attachment(
    parts: Iterable[bytes], content_type: str, name: str
) -> StreamingHttpResponse:
    """Return a file to download."""
    response = streamed(parts, content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def streamed(parts: Iterable[Part], content_type: str) -> StreamingHttpResponse:
    """Return a response in parts, which are made for the user of the present page.

    They are read when the page has ended.
    """
    context = copy_context()
    iterator = iter(parts)

    def read() -> Iterator[Part]:
        while (part := context.run(next, iterator, None)) is not None:
            yield part

    return StreamingHttpResponse(read(), content_type=content_type)


def url_of(view: str, configuration: Configuration) -> str:
    """Return the URL of a page of a configuration."""
    record = UUID(configuration.record)
    return reverse(f"admin:outkey_configuration_{view}", args=[record])
