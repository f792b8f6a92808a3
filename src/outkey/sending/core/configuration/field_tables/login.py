"""The fields of the tab Login."""

from functools import partial

from outkey.foundation.core.fields import choices
from outkey.foundation.core.fields.field_kinds import Audited, Field, Kind, Tab
from outkey.sending.core.configuration.field_tables.conditions import BY_LOGIN

MAX_STEPS = 5
login = partial(Field, Tab.LOGIN, when=BY_LOGIN)
rare_login = partial(Field, Tab.LOGIN, when=BY_LOGIN, rare=True)

step = partial(Field, Tab.LOGIN)
# A login is one request, or several; its cookies may be all that it is done for.
_WITHOUT_STEPS = (*BY_LOGIN, ("login.steps", ((),)))
_WITHOUT_COOKIES = (*BY_LOGIN, ("login.cookies", (False,)))

STEP_FIELDS: tuple[Field, ...] = (
    step(
        "login.steps.method",
        "Method of a step",
        Kind.METHOD,
        default="POST",
        help="The method of the request.",
    ),
    step(
        "login.steps.path",
        "Path of a step",
        Kind.TEXT,
        audited=Audited.PATH,
        help="The path below the Base URL, if there is no URL.",
    ),
    step(
        "login.steps.url",
        "URL of a step",
        Kind.ENDPOINT,
        help=(
            "The URL of the request, if it is at another origin than the Base URL. Only"
            " the step itself is sent there."
        ),
    ),
    step(
        "login.steps.format",
        "Format of a step",
        Kind.CHOICE,
        choices.StepFormat,
        default="json",
        help="The format of the body.",
    ),
    step(
        "login.steps.headers",
        "Headers of a step",
        Kind.TEXTS,
        help="Headers of this request alone, by their names.",
    ),
    step(
        "login.steps.body",
        "Body of a step",
        Kind.LONG_TEXT,
        help=(
            "The body of the request. {username}, {password}, {secret_key} and the"
            " names of taken values are replaced here and in path, URL and headers,"
            " encoded for the place."
        ),
    ),
    step(
        "login.steps.take",
        "Taken values",
        Kind.TEXTS,
        help=(
            "Values of the response by the names that they get: a JMESPath such as"
            " data.nonce, header:NAME or cookie:NAME."
        ),
    ),
)
FIELDS: tuple[Field, ...] = (
    login(
        "login.steps",
        "Steps",
        Kind.TABLES,
        maximum=MAX_STEPS,
        parts=STEP_FIELDS,
        help=(
            "Up to five requests, one after the other, for a login that needs more than"
            " one; instead of Login path, Login method and Login body."
        ),
    ),
    login(
        "login.path",
        "Login path",
        Kind.TEXT,
        audited=Audited.PATH,
        required_when=_WITHOUT_STEPS,
        help="The path below the Base URL that issues a token, such as /auth/login.",
    ),
    rare_login(
        "login.method",
        "Login method",
        Kind.METHOD,
        default="POST",
        help="The method of the login request.",
    ),
    login(
        "login.format",
        "Login format",
        Kind.CHOICE,
        choices.BodyFormat,
        default="json",
        help="The format of the login request.",
    ),
    login(
        "login.body",
        "Login body",
        Kind.LONG_TEXT,
        required_when=_WITHOUT_STEPS,
        help=(
            "The body of the login request. {username}, {password} and {secret_key}"
            " are replaced by the fields of that name, encoded for the format."
        ),
    ),
    login(
        "login.cookies",
        "Store cookies",
        Kind.FLAG,
        help=(
            "Whether the cookies that the API sets during the login are sent with each"
            " request while the token lasts. Then the token itself may be empty."
        ),
    ),
    login(
        "login.token",
        "Token in the response",
        Kind.TEXT,
        required_when=_WITHOUT_COOKIES,
        help=(
            "Where the response has the token: a JMESPath such as data.access_token,"
            " header:NAME or cookie:NAME; with steps that of the last one, or a text"
            " with taken values such as {session}."
        ),
    ),
    login(
        "login.expires_in",
        "Expiry in the response",
        Kind.TEXT,
        help="Where the response has the lifetime of the token, as a JMESPath.",
    ),
    login(
        "login.expires_unit",
        "Expiry unit",
        Kind.CHOICE,
        choices.ExpiryUnit,
        default="s",
        help="What the expiry in the response means.",
    ),
    login(
        "login.lifetime_seconds",
        "Lifetime",
        Kind.SECONDS,
        default=3300,
        minimum=1,
        maximum=31_536_000,
        help="Seconds that a token is assumed to last if the response does not"
        " state it.",
    ),
    rare_login(
        "login.refresh_path",
        "Refresh path",
        Kind.TEXT,
        audited=Audited.PATH,
        help="The path that renews a token; without it the login is repeated.",
    ),
    rare_login(
        "login.refresh_body",
        "Refresh body",
        Kind.LONG_TEXT,
        help="The body of the refresh request; {refresh_token} is replaced.",
    ),
    rare_login(
        "login.refresh_token",
        "Refresh token in the response",
        Kind.TEXT,
        help="Where the response has the refresh token, as for the token.",
    ),
    rare_login(
        "login.logout_path",
        "Logout path",
        Kind.TEXT,
        audited=Audited.PATH,
        help="The path that ends the session; used when the token is revoked.",
    ),
)
