"""The steps of a login: their requests, and the values taken from their responses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from outkey.foundation.core.errors import ConfigError, drop_traceback
from outkey.foundation.core.fields.choices import StepFormat
from outkey.foundation.core.origin import Location, build_target, parse_endpoint
from outkey.foundation.core.placeholders import placeholders_in
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.xml_document import NotReadable, parse_xml
from outkey.sending.core.configuration.configuration import (
    SECRETS_OF_LOGIN,
    STEPS,
    Configuration,
)
from outkey.sending.core.configuration.sections import LoginStep
from outkey.sending.core.login.failures import NOTHING_TAKEN, login_failure
from outkey.sending.core.login.requests import USERNAME
from outkey.sending.core.login.responses import (
    Finder,
    find_part,
    parse_body,
    reason_of_missing_part,
    reason_of_status,
    taken_value,
)
from outkey.sending.core.login.template import (
    CONTENT_TYPES,
    fill,
    fill_target,
    fill_text,
)
from outkey.sending.core.oauth2.grants import common_headers
from outkey.sending.core.request.assembly import (
    SecretOpener,
    checked_value,
    with_rows,
)
from outkey.sending.core.request.cookies import Jar, cookie_header, jar_after
from outkey.sending.core.request.headers import with_composed_headers
from outkey.sending.core.request.message import (
    Header,
    Request,
    Response,
    Source,
    server_time,
)

_WITHOUT_BODY = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class LoginProgress:
    """What the steps so far have brought: taken values, and cookies of the API."""

    taken: Mapping[str, Secret] = field(default_factory=dict)
    cookies: Jar = field(default_factory=dict)
    document: object = field(default=None, repr=False)  # of the last response


class StepPlace(NamedTuple):
    """A step in a document: its number, and where its keys are."""

    number: int
    step: LoginStep

    def field(self, key: str) -> str:
        """Return the place of one of its keys."""
        return f"{STEPS}[{self.number}].{key}"

    def take_field(self, name: str) -> str:
        """Return the place of a value that it takes, also the name of its finder."""
        return f"{self.field('take')}.{name}"


def places_of(configuration: Configuration) -> list[StepPlace]:
    """Return the steps of a login with their numbers."""
    steps = configuration.login.each_step
    return [StepPlace(number, step) for number, step in enumerate(steps)]


def taken_names(configuration: Configuration) -> list[str]:
    """Return the names of the values that all steps take."""
    return [name for step in configuration.login.each_step for name in step.take]


def location_of(configuration: Configuration, place: StepPlace) -> Location:
    """Return where a step is sent; names of values stand in the target, encoded."""
    if place.step.url:
        return parse_endpoint(place.step.url, place.field("url"))
    try:
        target = build_target(configuration.base, place.step.path)
    except ConfigError as error:
        raise ConfigError(
            error.message, hint=error.hint, field=place.field("path")
        ) from None
    return Location(configuration.base.origin, target)


def step_request(
    configuration: Configuration,
    place: StepPlace,
    secret: SecretOpener,
    progress: LoginProgress,
) -> Request:
    """Return the request of a step.

    Only at the origin of the API it has the rows of the configuration, and the cookies
    that the API has set.
    """
    step = place.step
    location = location_of(configuration, place)
    names = placeholders_in(*step.templates)
    values: dict[str, str | Secret] = {
        **{name: secret(name) for name in SECRETS_OF_LOGIN if name in names},
        **{name: value for name, value in progress.taken.items() if name in names},
    }
    secrets = tuple(value for value in values.values() if isinstance(value, Secret))
    values[USERNAME] = configuration.username
    target, secret_target = fill_target(location.target, values)
    body = fill(step.body, values, step.format)
    headers = [*common_headers(location, _framing(step, body))]
    for name, template in step.headers.items():
        value = checked_value(fill_text(template, values), place.field("headers"))
        headers.append(Header(name, value, Source.AUTHENTICATION))
    is_at_api = location.origin == configuration.base.origin
    cookies = cookie_header(progress.cookies) if is_at_api else None
    if cookies is not None:
        headers.append(Header("Cookie", cookies, Source.AUTHENTICATION))
    request = Request(
        method=step.method,
        origin=location.origin,
        target=target,
        headers=tuple(headers),
        body=body,
        body_secrets=secrets,
        secret_target=secret_target,
    )
    if is_at_api:
        request = with_rows(request, configuration, secret)
    return with_composed_headers(request)


def _framing(step: LoginStep, body: Secret) -> dict[str, str]:
    """Return the headers that describe the body."""
    headers = {}
    if step.format is StepFormat.XML:
        headers["Accept"] = "application/xml"
    if body or step.method not in _WITHOUT_BODY:
        headers["Content-Length"] = str(body.wire_length)
    if body:
        headers["Content-Type"] = CONTENT_TYPES[step.format]
    return headers


@drop_traceback  # its traceback would hold the response
def after_step(
    configuration: Configuration,
    place: StepPlace,
    response: Response,
    finders: Mapping[str, Finder],
    progress: LoginProgress,
    *,
    now: float,
) -> LoginProgress:
    """Return what a step has brought with those before, or raise why it failed."""
    if response.status >= 300:
        raise login_failure(
            reason_of_status(response.status), server_time(response), field=STEPS
        )
    document = document_of(response, place.step)
    taken = dict(progress.taken)
    for name in place.step.take:
        value = _take(response, place, name, document, finders)
        if value is None:
            reason = reason_of_missing_part(response, document)
            raise login_failure(reason or NOTHING_TAKEN, field=STEPS)
        taken[name] = value
    cookies = progress.cookies
    origin = location_of(configuration, place).origin
    if configuration.login.cookies and origin == configuration.base.origin:
        cookies = jar_after(cookies, response, origin.host, now)
    return LoginProgress(taken, cookies, document)


def first_missing(
    place: StepPlace, response: Response, finders: Mapping[str, Finder]
) -> str:
    """Return where the first value was looked for that a response lacks, or nothing."""
    document = document_of(response, place.step)
    for name, where in place.step.take.items():
        if _take(response, place, name, document, finders) is None:
            return where
    return ""


def _take(
    response: Response,
    place: StepPlace,
    name: str,
    document: object,
    finders: Mapping[str, Finder],
) -> Secret | None:
    """Return a value of a response; None if the response does not have it."""
    finder = finders.get(place.take_field(name))
    return taken_value(find_part(response, place.step.take[name], document, finder))


def document_of(response: Response, step: LoginStep) -> object:
    """Return the JSON or XML of a response, None if it is neither.

    XML is tried where the step sends it, or where the response says so: a web page is
    no document.
    """
    document = parse_body(response.body)
    if document is not None:
        return document
    kind = response.headers.get("Content-Type").partition(";")[0].strip().lower()
    if step.format is StepFormat.XML or kind.endswith(("/xml", "+xml")):
        try:
            return parse_xml(response.body)
        except NotReadable:
            return None
    return None
