"""An API whose credentials are replaced: what it accepts, and from when.

Everything is counted from the journal: after `Spar.clear()` a scene begins anew.
"""

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import NamedTuple

from outkey.spar.exchange import Stage
from outkey.spar.logins import PASSWORD

OLD = "old"
NEW = "new"
NEXT_TOKEN = "spar-next-token"  # noqa: S105 - made up and public
# The credentials of each set, wherever a request has them.
_SETS = {
    "spar-token": OLD,
    "spar-key": OLD,
    PASSWORD: OLD,
    NEXT_TOKEN: NEW,
    "spar-next-key": NEW,
    "open barley": NEW,
}
# Programs whose credentials nobody can know name the set here.
SET_HEADER = "X-Spar-Set"
_LOCKED_AFTER = 3


class _Seen(NamedTuple):
    """The requests of a scene with credentials, before this one: their sets."""

    sets: list[str]

    def count(self, name: str) -> int:
        """Return how many had the credentials of a set."""
        return self.sets.count(name)

    @property
    def since_new(self) -> int:
        """How many there were since the first one with the new credentials."""
        return len(self.sets) - self.sets.index(NEW) if NEW in self.sets else 0


def _play_rotation(stage: Stage) -> None:
    """Accept old and new credentials as `/rotation/NAME` names it.

    Old are `spar-token`, `spar-key` and the password `open sesame`, new are
    `spar-next-token`, `spar-next-key` and `open barley`: as Bearer, in X-API-Key or
    with Basic. `X-Spar-Set` may name the set instead. `both` accepts both. `switch`
    accepts the old ones for `?after=` requests (3), and then only the new ones. `late`
    accepts the old ones for so many requests after the first with the new ones.
    `refused` refuses the new ones by `?status=` 401, 403, or 200 with an error in the
    body, once `?after=` of them were accepted (0). `locked` refuses them so too, and
    after three refusals everything (423). `limited` responds with 429 to `?times=` (1)
    of them, once `?after=` were accepted.
    """
    name = _set_of(stage.headers)
    same = [arrival for arrival in list(stage.journal) if arrival.path == stage.path]
    earlier = (
        _set_of({key.lower(): value for key, value in arrival.headers})
        for arrival in same[:-1]
    )
    seen = _Seen(list(filter(None, earlier)))
    accept = _SCENES.get(stage.rest)
    if accept is None:
        stage.respond(404, {"error": "no such scene", "names": sorted(_SCENES)})
    elif not name:
        _refuse(stage, 401)
    else:
        accept(stage, name, seen)


def _set_of(headers: Mapping[str, str]) -> str:
    """Return the set that the credentials of a request belong to; "" without any."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme == "Basic":
        value = b64decode(value + "==").decode(errors="replace").partition(":")[2]
    key = headers.get("x-api-key", "")
    named = headers.get(SET_HEADER.lower(), "")
    return named or _SETS.get(value) or _SETS.get(key, "")


def _refuse(stage: Stage, status: int) -> None:
    if status == 200:  # as Slack refuses
        stage.respond(200, {"ok": False, "error": "invalid_auth"})
    else:
        stage.respond(status, {"error": "forbidden" if status == 403 else "refused"})


def _welcome(stage: Stage, name: str) -> None:
    stage.respond(200, {"welcome": name})


def _accept_both(stage: Stage, name: str, _seen: _Seen) -> None:
    _welcome(stage, name)


def _switch(stage: Stage, name: str, seen: _Seen) -> None:
    accepted = NEW if len(seen.sets) >= stage.number("after", 3) else OLD
    _welcome(stage, name) if name == accepted else _refuse(stage, 401)


def _revoke_late(stage: Stage, name: str, seen: _Seen) -> None:
    is_dead = name == OLD and seen.since_new > stage.number("after", 3)
    _refuse(stage, 401) if is_dead else _welcome(stage, name)


def _refuse_new(stage: Stage, name: str, seen: _Seen) -> None:
    if name == NEW and seen.count(NEW) >= stage.number("after", 0):
        _refuse(stage, int(stage.number("status", 401)))
    else:
        _welcome(stage, name)


def _lock(stage: Stage, name: str, seen: _Seen) -> None:
    accepted = stage.number("after", 0)
    if seen.count(NEW) - accepted >= _LOCKED_AFTER:
        stage.respond(423, {"error": "locked"})
    else:
        _refuse_new(stage, name, seen)


def _limit(stage: Stage, name: str, seen: _Seen) -> None:
    count = seen.count(NEW) - stage.number("after", 0)
    if name == NEW and 0 <= count < stage.number("times", 1):
        stage.respond(429, {"error": "rate_limited"}, ("Retry-After", "1"))
    else:
        _welcome(stage, name)


_SCENES: dict[str, Callable[[Stage, str, _Seen], None]] = {
    "both": _accept_both,
    "switch": _switch,
    "late": _revoke_late,
    "refused": _refuse_new,
    "locked": _lock,
    "limited": _limit,
}
ROTATION: dict[str, Callable[[Stage], None]] = {"rotation": _play_rotation}
