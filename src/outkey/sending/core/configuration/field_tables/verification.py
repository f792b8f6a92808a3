"""The fields of the tab Verification."""

from functools import partial

from outkey.foundation.core.fields.field_kinds import Audited, Field, Kind, Tab

verification = partial(Field, Tab.VERIFICATION)

FIELDS: tuple[Field, ...] = (
    verification(
        "verification.test_path",
        "Test Path",
        Kind.TEXT,
        audited=Audited.PATH,
        default="/",
        help="A path that succeeds only with valid credentials and changes nothing.",
    ),
    verification(
        "verification.test_method",
        "Test Method",
        Kind.METHOD,
        default="GET",
        help="The method of the test request.",
    ),
    verification(
        "verification.test_body",
        "Test Body",
        Kind.LONG_TEXT,
        maximum=16_384,
        help=(
            "The body of the test request, such as a call of JSON-RPC that only reads;"
            " without any credential. Set Test Method, such as POST."
        ),
    ),
    verification(
        "verification.test_content_type",
        "Test Content-Type",
        Kind.TEXT,
        default="application/json",
        maximum=256,
        rare=True,
        help="The Content-Type of the Test Body.",
    ),
    verification(
        "verification.accepted_statuses",
        "Accepted statuses",
        Kind.STATUSES,
        default="200-299",
        help="The statuses that count as success in a test.",
    ),
    verification(
        "verification.forbidden_means_expired",
        "403 means expired",
        Kind.FLAG,
        help="For APIs that respond with 403 to an expired token.",
    ),
    verification(
        "verification.expired_statuses",
        "Expired statuses",
        Kind.STATUSES,
        default="401",
        help=(
            "The statuses that mean that the token has expired, such as 401, 498. 401 "
            "always belongs to them."
        ),
    ),
    verification(
        "verification.expired_marker",
        "Expired marker",
        Kind.TEXT,
        help=(
            "A text that means that the token has expired, in the first 64 KiB of a "
            "response of any status, also 200."
        ),
    ),
    verification(
        "verification.compare",
        "Compare without credentials",
        Kind.FLAG,
        default=True,
        help=(
            "After a successful GET or HEAD, repeat the request without credentials: "
            "a path that succeeds for everybody proves nothing."
        ),
    ),
    verification(
        "verification.follow_clock",
        "Use the API's clock",
        Kind.FLAG,
        help=(
            "Let the timestamps of scripts and signed assertions follow the API's "
            "clock, as its Date header shows it."
        ),
    ),
)
