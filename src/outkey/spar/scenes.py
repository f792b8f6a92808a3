"""What the sparring provider plays: one function a scene, found by the first parts of the path.

Credentials are made up and public: user `sparring` with password `open sesame`, token
`spar-token`, key `spar-key` in X-API-Key. The authorization server is in `authorization.py`.
"""

import hmac
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator

from outkey.spar.authorization import AUTHORIZATION
from outkey.spar.drill import drill
from outkey.spar.exchange import Stage
from outkey.spar.records import Refused
from outkey.spar.records_api import records
from outkey.spar.token_requests import refuse

USERNAME, PASSWORD = "sparring", "open sesame"
TOKEN, API_KEY, SIGNING_KEY = "spar-token", "spar-key", "spar-signing-key"
_MAX_SKEW = 300
_BASIC = "Basic " + b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
_BLOCK = b"\0" * 65536


def play(stage: Stage) -> None:
    """Play the scene that is named by the first two parts of the path, or else by the first."""
    first, _, rest = stage.path.strip("/").partition("/")
    pair = f"{first}/{rest.partition('/')[0]}"
    scene = SCENES.get(pair) or SCENES.get(first)
    if scene is None:
        stage.answer(404, {"error": "no such scene", "scenes": index()})
        return
    try:
        scene(stage)
    except Refused as refused:
        refuse(stage, refused)


def index() -> dict[str, str]:
    """Return the scenes and what they do."""
    return {
        f"/{name}": " ".join((scene.__doc__ or "").split())
        for name, scene in SCENES.items()
    }


def _welcome(stage: Stage) -> None:
    """List the scenes."""
    stage.answer(200, {"name": "outkey sparring provider", "scenes": index()})


# ── credentials ──────────────────────────────────────────────────────────────────────────────


def _basic(stage: Stage) -> None:
    """Demand user `sparring` with password `open sesame`."""
    if _equal(stage.headers.get("authorization"), _BASIC):
        stage.answer(200, {"user": USERNAME})
    else:
        challenge = 'Basic realm="spar", charset="UTF-8"'
        stage.answer(401, {"error": "unauthorized"}, ("WWW-Authenticate", challenge))


def _bearer(stage: Stage) -> None:
    """Demand the token `spar-token`; `/bearer/expired` takes none any more."""
    given = stage.headers.get("authorization")
    if stage.rest == "expired":
        text = (
            'Bearer realm="spar", error="invalid_token", error_description="The token'
            ' expired"'
        )
        stage.answer(401, {"error": "token_expired"}, ("WWW-Authenticate", text))
    elif _equal(given, f"Bearer {TOKEN}"):
        stage.answer(200, {"token": "accepted"})
    else:
        stage.answer(
            401, {"error": "unauthorized"}, ("WWW-Authenticate", 'Bearer realm="spar"')
        )


def _key(stage: Stage) -> None:
    """Demand `X-API-Key: spar-key`."""
    if _equal(stage.headers.get("x-api-key"), API_KEY):
        stage.answer(200, {"key": "accepted"})
    else:
        stage.answer(401, {"error": "unauthorized"})


def _signed(stage: Stage) -> None:
    """Demand `X-Timestamp` and its HMAC-SHA256 with `spar-signing-key` in `X-Signature`."""
    stamp = stage.headers.get("x-timestamp", "")
    wanted = hmac.new(SIGNING_KEY.encode(), stamp.encode(), "sha256").hexdigest()
    recent = stamp.isdigit() and abs(time.time() - int(stamp[:12])) < _MAX_SKEW
    if recent and _equal(stage.headers.get("x-signature"), wanted):
        stage.answer(200, {"signature": "accepted"})
    else:
        stage.answer(401, {"error": "unauthorized"})


def _equal(given: str | None, wanted: str) -> bool:
    return hmac.compare_digest((given or "").encode(), wanted.encode())


# ── answers ──────────────────────────────────────────────────────────────────────────────────


def _echo(stage: Stage) -> None:
    """Tell what arrived: method, path, header names, body size."""
    names = sorted(stage.headers)
    facts = {
        "method": stage.method,
        "path": stage.path,
        "headers": names,
        "body": len(stage.body),
    }
    stage.answer(200, facts)


def _status(stage: Stage) -> None:
    """Answer `/status/NNN`, with `?challenge=` as WWW-Authenticate and `?retry_after=` if given."""
    status = int(stage.rest) if stage.rest.isdigit() else 200
    headers = []
    for parameter, name in (
        ("challenge", "WWW-Authenticate"),
        ("retry_after", "Retry-After"),
    ):
        if parameter in stage.query:
            # A query may hold an encoded line break, which must not become a header of its own.
            headers.append((name, " ".join(stage.query[parameter].split())))
    stage.answer(status, None, *headers)


def _forbidden(stage: Stage) -> None:
    """Answer 403: the user is known, but may not."""
    text = 'Bearer realm="spar", error="insufficient_scope", scope="orders:read"'
    stage.answer(403, {"error": "forbidden"}, ("WWW-Authenticate", text))


def _header_format(stage: Stage) -> None:
    """Answer 400 as to a malformed Authorization header."""
    text = 'Bearer realm="spar", error="invalid_request"'
    stage.answer(400, {"error": "invalid_request"}, ("WWW-Authenticate", text))


def _limited(stage: Stage) -> None:
    """Answer 429 with Retry-After from `?after=` (1 by default)."""
    after = " ".join(stage.query.get("after", "1").split())
    stage.answer(429, {"error": "rate_limited"}, ("Retry-After", after))


def _journal(stage: Stage) -> None:
    """List what arrived at all servers, without values."""
    stage.answer(200, [arrived.facts() for arrived in list(stage.journal)])


# ── redirects ────────────────────────────────────────────────────────────────────────────────


def _redirect(stage: Stage) -> None:
    """To `same`, `elsewhere`, `scheme-relative`, `userinfo`, `downgrade`, `upgrade` or `loop`."""
    near = stage.neighbours
    host = near.main.removeprefix("http://")
    places = {
        "same": "/echo",
        "elsewhere": f"{near.elsewhere}/echo",
        "downgrade": f"{near.main}/echo",
        "upgrade": f"{near.secure}/echo",
        "scheme-relative": near.elsewhere.removeprefix("http:") + "/echo",
        "userinfo": f"http://{host}@{near.elsewhere.removeprefix('http://')}/echo",
        "loop": "/redirect/loop",
    }
    if not near.secure:
        del places["upgrade"], places["downgrade"]
    if stage.rest in places:
        status = int(stage.number("status", 302))
        stage.answer(status, None, ("Location", places[stage.rest]))
    else:
        stage.answer(404, {"error": "no such place", "places": sorted(places)})


# ── bad manners ──────────────────────────────────────────────────────────────────────────────


def _slow(stage: Stage) -> None:
    """Trickle the `headers` or the `body`, a byte at a time, or stay `silent`, for `?seconds=`."""
    if stage.rest == "silent":
        stage.silence()
    else:
        stage.trickle(stage.rest)


def _reset(stage: Stage) -> None:
    """Reset the connection, before the answer or in the middle of the `body`."""
    if stage.rest == "body":
        stage.head(200, ("Content-Length", "100000"))
        stage.write(b"half of it")
    stage.reset()


def _truncated(stage: Stage) -> None:
    """Announce 1000 bytes, send 10 and hang up; `/truncated/chunked` stops inside a chunk."""
    if stage.rest == "chunked":
        stage.head(200, ("Transfer-Encoding", "chunked"))
        stage.write(b"400\r\n0123456789")
    else:
        stage.head(200, ("Content-Length", "1000"))
        stage.write(b"0123456789")
    stage.hang_up = True


def _huge(stage: Stage) -> None:
    """Send `?bytes=` (5 GB by default), announced, `chunked` or `unannounced`."""
    size = int(stage.number("bytes", 5_000_000_000))
    stage.hang_up = True
    if stage.rest == "chunked":
        stage.head(200, ("Transfer-Encoding", "chunked"))
        for block in _blocks(size):
            stage.write(b"%x\r\n%b\r\n" % (len(block), block))
        stage.write(b"0\r\n\r\n")
        return
    announced = [] if stage.rest == "unannounced" else [("Content-Length", str(size))]
    stage.head(200, *announced, ("Connection", "close"))
    for block in _blocks(size):
        stage.write(block)


def _blocks(size: int) -> Iterator[bytes]:
    for start in range(0, size, len(_BLOCK)):
        yield _BLOCK[: min(len(_BLOCK), size - start)]


def _bomb(stage: Stage) -> None:
    """Send about 1 MB of gzip that inflates to `?mebibytes=` (1024 by default)."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = compressor.compress(b"\0" * 1024 * 1024) + compressor.flush(
        zlib.Z_FULL_FLUSH
    )
    # After a full flush each block stands alone, so one can be repeated without end.
    body = b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + block * int(
        stage.number("mebibytes", 1024)
    )
    stage.answer(200, body, ("Content-Encoding", stage.query.get("encoding", "gzip")))


def _headers(stage: Stage) -> None:
    """Answer with `?count=` headers (200 by default), each of `?length=` bytes."""
    value = "x" * int(stage.number("length", 10))
    many = [(f"X-Number-{n}", value) for n in range(int(stage.number("count", 200)))]
    stage.answer(200, None, *many)


def _impatient(stage: Stage) -> None:
    """Answer properly, then close the kept-alive connection without having said so."""
    stage.answer(200, {"next": "closed"})
    stage.hang_up = True


def _hints(stage: Stage) -> None:
    """Send 103 Early Hints before the answer."""
    stage.head(103, ("Link", "</style.css>; rel=preload"))
    stage.answer(200, {"hinted": True})


SCENES: dict[str, Callable[[Stage], None]] = {
    "": _welcome,
    "basic": _basic,
    "bearer": _bearer,
    "key": _key,
    "signed": _signed,
    "echo": _echo,
    "status": _status,
    "forbidden": _forbidden,
    "header-format": _header_format,
    "limited": _limited,
    "journal": _journal,
    "redirect": _redirect,
    "slow": _slow,
    "reset": _reset,
    "truncated": _truncated,
    "huge": _huge,
    "bomb": _bomb,
    "headers": _headers,
    "impatient": _impatient,
    "hints": _hints,
    "records": records,
    "drill": drill,
    **AUTHORIZATION,
}
