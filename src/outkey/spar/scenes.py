"""The scenes of the sparring provider: one function each, named by the path.

Credentials are made up and public: user `sparring` with password `open sesame`, token
`spar-token`, key `spar-key` in X-API-Key. `authorization.py` has the authorization
server, `logins.py` the logins.
"""

import hmac
import re
import time
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from outkey.spar.authorization import AUTHORIZATION
from outkey.spar.aws import AWS
from outkey.spar.exchange import Stage
from outkey.spar.keyless import KEYLESS
from outkey.spar.logins import BASIC, LOGINS, USERNAME
from outkey.spar.oauth1 import OAUTH1
from outkey.spar.records import OAuthError
from outkey.spar.records_api import records
from outkey.spar.reports import reports
from outkey.spar.rotation import ROTATION
from outkey.spar.token_requests import refuse

TOKEN = "spar-token"  # noqa: S105 - made up and public
API_KEY = "spar-key"
SIGNING_KEY = "spar-signing-key"
_MAX_SKEW = 300
_BLOCK = b"\0" * 65536


def play(stage: Stage) -> None:
    """Play the scene that the first two parts of the path name, or the first part."""
    first, _, rest = stage.path.strip("/").partition("/")
    pair = f"{first}/{rest.partition('/')[0]}"
    scene = SCENES.get(pair) or SCENES.get(first)
    if scene is None:
        stage.respond(404, {"error": "no such scene", "scenes": index()})
        return
    try:
        scene(stage)
    except OAuthError as error:
        refuse(stage, error)


def index() -> dict[str, str]:
    """Return the scenes and what they do."""
    return {
        f"/{name}": " ".join((scene.__doc__ or "").split())
        for name, scene in SCENES.items()
    }


def _list_scenes(stage: Stage) -> None:
    """List the scenes."""
    stage.respond(200, {"name": "outkey sparring provider", "scenes": index()})


# ── credentials ───────────────────────────────────────────────────────────────────────


def _play_basic(stage: Stage) -> None:
    """Demand user `sparring` with password `open sesame`."""
    if is_equal(stage.headers.get("authorization"), BASIC):
        stage.respond(200, {"user": USERNAME})
    else:
        challenge = 'Basic realm="spar", charset="UTF-8"'
        stage.respond(401, {"error": "unauthorized"}, ("WWW-Authenticate", challenge))


def _play_bearer(stage: Stage) -> None:
    """Demand the token `spar-token`; `/bearer/expired` accepts none."""
    header = stage.headers.get("authorization")
    if stage.rest == "expired":
        text = (
            'Bearer realm="spar", error="invalid_token", error_description="The token'
            ' expired"'
        )
        stage.respond(401, {"error": "token_expired"}, ("WWW-Authenticate", text))
    elif is_equal(header, f"Bearer {TOKEN}"):
        stage.respond(200, {"token": "accepted"})
    else:
        stage.respond(
            401, {"error": "unauthorized"}, ("WWW-Authenticate", 'Bearer realm="spar"')
        )


def _play_api_key(stage: Stage) -> None:
    """Demand `X-API-Key: spar-key`."""
    if is_equal(stage.headers.get("x-api-key"), API_KEY):
        stage.respond(200, {"key": "accepted"})
    else:
        stage.respond(401, {"error": "unauthorized"})


def _play_signature(stage: Stage) -> None:
    """Demand `X-Timestamp` and in `X-Signature` its HMAC-SHA256.

    The key is `spar-signing-key`.
    """
    stamp = stage.headers.get("x-timestamp", "")
    expected = hmac.new(SIGNING_KEY.encode(), stamp.encode(), "sha256").hexdigest()
    is_recent = stamp.isdigit() and abs(time.time() - int(stamp[:12])) < _MAX_SKEW
    if is_recent and is_equal(stage.headers.get("x-signature"), expected):
        stage.respond(200, {"signature": "accepted"})
    else:
        stage.respond(401, {"error": "unauthorized"})


def is_equal(value: str | None, expected: str) -> bool:
    """Compare credentials in constant time."""
    return hmac.compare_digest((value or "").encode(), expected.encode())


# ── responses ─────────────────────────────────────────────────────────────────────────


def _play_echo(stage: Stage) -> None:
    """Describe the request: method, path, header names, body size."""
    names = sorted(stage.headers)
    facts = {
        "method": stage.method,
        "path": stage.path,
        "headers": names,
        "body": len(stage.body),
    }
    stage.respond(200, facts)


def _play_status(stage: Stage) -> None:
    """Respond with `/status/NNN`.

    `?challenge=` sets WWW-Authenticate, `?retry_after=` sets Retry-After.
    """
    status = int(stage.rest) if stage.rest.isdigit() else 200
    headers = []
    for parameter, name in (
        ("challenge", "WWW-Authenticate"),
        ("retry_after", "Retry-After"),
    ):
        if parameter in stage.query:
            # An encoded line break in the query must not become a header of its own.
            headers.append((name, " ".join(stage.query[parameter].split())))
    stage.respond(status, None, *headers)


def _play_forbidden(stage: Stage) -> None:
    """Respond with 403: the user is known, but lacks a permission."""
    text = 'Bearer realm="spar", error="insufficient_scope", scope="orders:read"'
    stage.respond(403, {"error": "forbidden"}, ("WWW-Authenticate", text))


def _play_header_format(stage: Stage) -> None:
    """Respond with 400, as to a malformed Authorization header."""
    text = 'Bearer realm="spar", error="invalid_request"'
    stage.respond(400, {"error": "invalid_request"}, ("WWW-Authenticate", text))


def _play_rate_limit(stage: Stage) -> None:
    """Respond with 429 and Retry-After from `?after=` (1 by default)."""
    after = " ".join(stage.query.get("after", "1").split())
    stage.respond(429, {"error": "rate_limited"}, ("Retry-After", after))


def _play_journal(stage: Stage) -> None:
    """List the requests to all servers, without values."""
    stage.respond(200, [arrival.facts() for arrival in list(stage.journal)])


# ── redirects ─────────────────────────────────────────────────────────────────────────


def _play_redirect(stage: Stage) -> None:
    """Redirect to a place.

    Places: `same`, `elsewhere`, `scheme-relative`, `userinfo`, `downgrade`, `upgrade`
    or `loop`.
    """
    near = stage.neighbours
    host = near.main.removeprefix("http://")
    urls = {
        "same": "/echo",
        "elsewhere": f"{near.elsewhere}/echo",
        "downgrade": f"{near.main}/echo",
        "upgrade": f"{near.secure}/echo",
        "scheme-relative": near.elsewhere.removeprefix("http:") + "/echo",
        "userinfo": f"http://{host}@{near.elsewhere.removeprefix('http://')}/echo",
        "loop": "/redirect/loop",
    }
    if not near.secure:
        del urls["upgrade"], urls["downgrade"]
    if stage.rest in urls:
        status = int(stage.number("status", 302))
        stage.respond(status, None, ("Location", urls[stage.rest]))
    else:
        stage.respond(404, {"error": "no such place", "places": sorted(urls)})


# ── bad manners ───────────────────────────────────────────────────────────────────────


def _play_slow(stage: Stage) -> None:
    """Send `headers` or `body` a byte at a time, or stay `silent`, for `?seconds=`."""
    if stage.rest == "silent":
        stage.silence()
    else:
        stage.trickle(stage.rest)


def _play_reset(stage: Stage) -> None:
    """Reset the connection, before the response or in the middle of the `body`."""
    if stage.rest == "body":
        stage.head(200, ("Content-Length", "100000"))
        stage.write(b"half of it")
    stage.reset()


def _play_truncation(stage: Stage) -> None:
    """Announce 1000 bytes, send 10 and close; `/truncated/chunked` stops in a chunk."""
    if stage.rest == "chunked":
        stage.head(200, ("Transfer-Encoding", "chunked"))
        stage.write(b"400\r\n0123456789")
    else:
        stage.head(200, ("Content-Length", "1000"))
        stage.write(b"0123456789")
    stage.hang_up = True


def _play_huge(stage: Stage) -> None:
    """Send `?bytes=` (5 GB by default), announced, `chunked` or `unannounced`."""
    size = int(stage.number("bytes", 5_000_000_000))
    stage.hang_up = True
    if stage.rest == "chunked":
        stage.head(200, ("Transfer-Encoding", "chunked"))
        for block in _zero_blocks(size):
            stage.write(b"%x\r\n%b\r\n" % (len(block), block))
        stage.write(b"0\r\n\r\n")
        return
    length = [] if stage.rest == "unannounced" else [("Content-Length", str(size))]
    stage.head(200, *length, ("Connection", "close"))
    for block in _zero_blocks(size):
        stage.write(block)


def _zero_blocks(size: int) -> Iterator[bytes]:
    """Yield blocks of zeros, `size` bytes in all."""
    for start in range(0, size, len(_BLOCK)):
        yield _BLOCK[: min(len(_BLOCK), size - start)]


def _play_bomb(stage: Stage) -> None:
    """Send about 1 MB of gzip that inflates to `?mebibytes=` (1024 by default)."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = compressor.compress(b"\0" * 1024 * 1024) + compressor.flush(
        zlib.Z_FULL_FLUSH
    )
    # After a full flush each block stands alone, so one can be repeated without end.
    body = b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + block * int(
        stage.number("mebibytes", 1024)
    )
    stage.respond(200, body, ("Content-Encoding", stage.query.get("encoding", "gzip")))


def _play_headers(stage: Stage) -> None:
    """Respond with `?count=` headers (200 by default), each of `?length=` bytes."""
    value = "x" * int(stage.number("length", 10))
    count = int(stage.number("count", 200))
    headers = [(f"X-Number-{number}", value) for number in range(count)]
    stage.respond(200, None, *headers)


def _play_impatience(stage: Stage) -> None:
    """Respond correctly, then close the connection without having announced it."""
    stage.respond(200, {"next": "closed"})
    stage.hang_up = True


def _play_hints(stage: Stage) -> None:
    """Send 103 Early Hints before the response."""
    stage.head(103, ("Link", "</style.css>; rel=preload"))
    stage.respond(200, {"hinted": True})


_ISSUED = re.compile(r"spar-at-[0-9a-f]+")
_INVALID = (
    'Bearer realm="spar", error="invalid_token", error_description="Expired or unknown"'
)


class _CannedResponse(NamedTuple):
    """A response that is the same each time."""

    status: int
    body: dict[str, object]
    headers: tuple[tuple[str, str], ...] = ()


_FAILURES = {
    "wrong": _CannedResponse(401, {"error": "unauthorized"}),
    "expired-403": _CannedResponse(403, {"error": "forbidden"}),
    # As Slack refuses.
    "error-in-200": _CannedResponse(200, {"ok": False, "error": "invalid_auth"}),
    "limited": _CannedResponse(429, {"error": "rate_limited"}, (("Retry-After", "5"),)),
    "unavailable": _CannedResponse(503, {"error": "unavailable"}),
    # As Amazon S3 refuses.
    "skewed": _CannedResponse(403, {"Code": "RequestTimeTooSkewed"}),
}


def _play_drill(stage: Stage) -> None:
    """Fail as `/drill/NAME` names it for the first `?times=` requests (all by default).

    Then succeed. Names: `wrong`, `expired-403`, `error-in-200`, `limited`,
    `unavailable`, `skewed`, `welcome`. A token of the authorization server, in any
    header, must be live.
    """
    failure = _FAILURES.get(stage.rest)
    tokens = _ISSUED.findall(" ".join(stage.headers.values()))
    if failure is not None and _arrival_count(stage) <= stage.number("times", 1e9):
        stage.respond(failure.status, failure.body, *failure.headers)
    elif all(map(stage.authority.access, tokens)):
        stage.respond(200, {"welcome": True})
    else:
        stage.respond(401, {"error": "invalid_token"}, ("WWW-Authenticate", _INVALID))


def _arrival_count(stage: Stage) -> int:
    """Return how many requests for this scene arrived, this one included."""
    return sum(arrival.path == stage.path for arrival in list(stage.journal))


SCENES: dict[str, Callable[[Stage], None]] = {
    "": _list_scenes,
    "basic": _play_basic,
    "bearer": _play_bearer,
    "key": _play_api_key,
    "signed": _play_signature,
    "echo": _play_echo,
    "status": _play_status,
    "forbidden": _play_forbidden,
    "header-format": _play_header_format,
    "limited": _play_rate_limit,
    "journal": _play_journal,
    "redirect": _play_redirect,
    "slow": _play_slow,
    "reset": _play_reset,
    "truncated": _play_truncation,
    "huge": _play_huge,
    "bomb": _play_bomb,
    "headers": _play_headers,
    "impatient": _play_impatience,
    "hints": _play_hints,
    "records": records,
    "reports": reports,
    "drill": _play_drill,
    **ROTATION,
    **AUTHORIZATION,
    **LOGINS,
    **OAUTH1,
    **AWS,
    **KEYLESS,
}
