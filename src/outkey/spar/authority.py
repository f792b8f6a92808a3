"""What the authorization server knows: clients, codes, tokens and their families.

The rules of the grants are here, the clock and nothing else of the outside; HTTP is in
`authorization.py`. Every public method may be called from any thread.
"""

import hmac
import secrets
import time
from collections import deque
from collections.abc import Iterable, Mapping
from threading import RLock
from typing import NoReturn

from outkey.spar.ledger import Counts, Ledger, astray
from outkey.spar.records import (
    SCOPE,
    Access,
    Code,
    Device,
    Family,
    Refresh,
    Refused,
    Terms,
    check_scope,
    check_verifier,
    needed,
    whole,
)

CLIENT, CLIENT_SECRET = "spar-client", "spar-client-secret"
# Every character here is one that RFC 6749 §2.3.1 wants encoded before it goes into Basic.
AWKWARD_CLIENT, AWKWARD_SECRET = "spar client:2", "50% open+sesame:/ü"
# A public client has no secret (RFC 6749 §2.1).
PUBLIC_CLIENT = "spar-public"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
GRANTS = ("client_credentials", "refresh_token", "authorization_code", DEVICE_GRANT)

_CODE_LIFETIME = 60.0
# RFC 8628 §6.1: letters that spell no words and are not mistaken for each other.
_USER_CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_SLOW_DOWN = 5.0


class Authority:
    """The authorization server's memory; also what tests steer it by."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self._lock = RLock()
        self._clients = {CLIENT: CLIENT_SECRET, AWKWARD_CLIENT: AWKWARD_SECRET, PUBLIC_CLIENT: ""}
        self._families: list[Family] = []
        self._refresh: dict[str, Refresh] = {}
        self._access: dict[str, Access] = {}
        self._codes: dict[str, Code] = {}
        self._devices: dict[str, Device] = {}
        self._user_codes: dict[str, Device] = {}
        self._next: deque[str] = deque()

    # ── steering ─────────────────────────────────────────────────────────────────────────────

    def seed_refresh(self, client: str = CLIENT, scope: str = SCOPE) -> str:
        """Return a live refresh token, as if somebody had just approved."""
        with self._lock:
            return self._new_refresh(self._new_family(client, scope))

    def expire_all(self) -> None:
        """Let every access token expire now."""
        with self._lock:
            now = time.monotonic()
            for access in self._access.values():
                access.expires = min(access.expires, now)

    def revoke_family(self, token: str | None = None) -> int:
        """Kill the family of an access or refresh token, or all; return how many died."""
        with self._lock:
            doomed = [f for f in self._doomed(token) if f.live]
            for family in doomed:
                family.live = False
            return len(doomed)

    def next_answers(self, *names: str) -> None:
        """Play these odd answers, in turn, to the next token requests."""
        with self._lock:
            self._next.extend(names)

    def add_client(self, client: str, secret: str = "") -> None:
        """Register a client; without a secret it is a public one."""
        with self._lock:
            self._clients[client] = secret

    def counts(self) -> Counts:
        """Return what came and went so far, without any value."""
        with self._lock:
            now = time.monotonic()
            live = sum(family.live for family in self._families)
            usable = sum(access.usable(now) for access in self._access.values())
            families = (live, len(self._families) - live)
            return self.ledger.counts(families=families, access_tokens=usable)

    # ── what the scenes ask ──────────────────────────────────────────────────────────────────

    def next_answer(self) -> str:
        """Return the odd answer that is to be played now, or nothing."""
        with self._lock:
            return self._next.popleft() if self._next else ""

    def notice(self, server: str, scene: str, parts: Mapping[str, str]) -> None:
        """Look for credentials that went astray."""
        with self._lock:
            known = [secret for secret in self._clients.values() if secret]
        self.ledger.strayed(astray(server, scene, parts, known))

    def knows(self, client: str) -> bool:
        """Say whether a client is registered."""
        with self._lock:
            return client in self._clients

    def authenticate(self, client: str, secret: str) -> None:
        """Refuse a client that is unknown or has another secret."""
        with self._lock:
            known = self._clients.get(client)
        if known is None or not hmac.compare_digest(known.encode(), secret.encode()):
            raise Refused("invalid_client", "Unknown client or wrong secret", 401)

    def grant(self, client: str, form: Mapping[str, str], terms: Terms) -> dict[str, object]:
        """Answer a token request (RFC 6749 §5.1) or refuse it."""
        with self._lock:
            match form.get("grant_type"):
                case "client_credentials":
                    return self._client_credentials(client, form, terms)
                case "refresh_token":
                    return self._refresh_token(client, form, terms)
                case "authorization_code":
                    return self._authorization_code(client, form, terms)
                case "urn:ietf:params:oauth:grant-type:device_code":
                    return self._device_code(client, form, terms)
                case None:
                    raise Refused("invalid_request", "grant_type is missing")
                case _:
                    raise Refused("unsupported_grant_type", "No such grant")

    def mint(self, terms: Terms, client: str = CLIENT, scope: str = SCOPE) -> dict[str, object]:
        """Issue an access token that nobody had to ask for properly."""
        with self._lock:
            return self._issue(client, scope, terms, None)

    def approve(self, client: str, redirect_uri: str, challenge: str, scope: str) -> str:
        """Return a code for somebody who approved (RFC 6749 §4.1.2)."""
        check_scope(scope)
        with self._lock:
            code = f"spar-code-{secrets.token_hex(16)}"
            expires = time.monotonic() + _CODE_LIFETIME
            self._codes[code] = Code(client, redirect_uri, challenge, scope or SCOPE, expires)
            return code

    def device(
        self, client: str, scope: str, *, lifetime: float, interval: float
    ) -> dict[str, object]:
        """Start a device authorization (RFC 8628 §3.2)."""
        check_scope(scope)
        with self._lock:
            device = Device(client, scope or SCOPE, time.monotonic() + lifetime, interval)
            device_code = f"spar-device-{secrets.token_hex(16)}"
            letters = "".join(secrets.choice(_USER_CODE_LETTERS) for _ in range(8))
            self._devices[device_code] = self._user_codes[letters] = device
        user_code = f"{letters[:4]}-{letters[4:]}"
        facts: dict[str, object] = {"device_code": device_code, "user_code": user_code}
        return facts | {"expires_in": whole(lifetime), "interval": whole(interval)}

    def decide(self, user_code: str, decision: str) -> bool:
        """Let somebody with a user code approve or deny; say whether there was such a code."""
        # RFC 8628 §6.1: case and punctuation do not matter.
        letters = "".join(filter(str.isalpha, user_code)).upper()
        with self._lock:
            device = self._user_codes.get(letters)
            if device is None or device.decision != "pending":
                return False
            device.decision = decision
            return True

    def access(self, token: str) -> Access | None:
        """Return a live access token."""
        with self._lock:
            access = self._access.get(token)
            return access if access and access.usable(time.monotonic()) else None

    def revoke(self, client: str, token: str) -> None:
        """Revoke a token; with a refresh token its whole family goes (RFC 7009 §2.1)."""
        with self._lock:
            access, refresh = self._access.get(token), self._refresh.get(token)
            owned = access or (refresh and refresh.family)
            if not owned:
                return  # RFC 7009 §2.2: an unknown token is no error
            if owned.client != client:
                raise Refused("unauthorized_client", "The token belongs to another client")
            owned.live = False

    def introspect(self, token: str) -> dict[str, object]:
        """Tell what a token is (RFC 7662 §2.2), and nothing about one that is not live."""
        with self._lock:
            refresh, access = self._refresh.get(token), self.access(token)
            if access:
                age = time.time() - time.monotonic()
                times = {"iat": int(access.issued + age), "exp": int(access.expires + age)}
                facts = {"client_id": access.client, "scope": access.scope, "token_type": "Bearer"}
                return {"active": True, **facts, **times}
            if refresh and refresh.family.live and refresh.used is None:
                family = refresh.family
                return {"active": True, "client_id": family.client, "scope": family.scope}
        return {"active": False}

    # ── grants; the lock is held ─────────────────────────────────────────────────────────────

    def _client_credentials(
        self, client: str, form: Mapping[str, str], terms: Terms
    ) -> dict[str, object]:
        if not self._clients[client]:
            # RFC 6749 §4.4: confidential clients only.
            raise Refused("unauthorized_client", "A public client has no credentials")
        scope = form.get("scope", SCOPE)
        check_scope(scope)
        return self._issue(client, scope, terms, None)

    def _refresh_token(
        self, client: str, form: Mapping[str, str], terms: Terms
    ) -> dict[str, object]:
        token = needed(form, "refresh_token")
        refresh = self._refresh.get(token)
        if refresh is None or refresh.family.client != client or not refresh.family.live:
            raise Refused("invalid_grant", "The refresh token is unknown or revoked")
        family, now = refresh.family, time.monotonic()
        scope = form.get("scope", family.scope)
        if not set(scope.split()) <= set(family.scope.split()):
            raise Refused("invalid_scope", "More than was approved")  # RFC 6749 §6
        if refresh.used is not None and now - refresh.used > terms.grace:
            self._betray(family, "The refresh token was used before")
        if not terms.rotate:
            return self._issue(client, scope, terms, family)
        refresh.used = now if refresh.used is None else refresh.used
        fields = self._issue(client, scope, terms, family)
        return fields | {"refresh_token": self._new_refresh(family)}

    def _authorization_code(
        self, client: str, form: Mapping[str, str], terms: Terms
    ) -> dict[str, object]:
        code = self._codes.get(needed(form, "code"))
        if code is None or code.client != client or time.monotonic() > code.expires:
            raise Refused("invalid_grant", "The code is unknown or expired")
        if code.family is not None:
            # RFC 6749 §4.1.2: deny, and revoke what was issued for this code.
            self._betray(code.family, "The code was used before")
        if code.redirect_uri != form.get("redirect_uri"):
            raise Refused("invalid_grant", "Another redirect_uri than the code was issued for")
        check_verifier(needed(form, "code_verifier"), code.challenge)
        code.family = self._new_family(client, code.scope)
        return self._issue_pair(code.family, terms)

    def _device_code(self, client: str, form: Mapping[str, str], terms: Terms) -> dict[str, object]:
        device = self._devices.get(needed(form, "device_code"))
        if device is None or device.client != client or device.decision == "used":
            raise Refused("invalid_grant", "The device code is unknown or used")
        now = time.monotonic()
        hurried = device.polled is not None and now - device.polled < device.interval
        device.polled = now
        if now > device.expires:
            raise Refused("expired_token", "Nobody approved in time")
        if device.decision == "deny":
            raise Refused("access_denied", "Somebody denied it")
        if hurried:
            device.interval += _SLOW_DOWN  # RFC 8628 §3.5
            raise Refused("slow_down", "Faster than the interval")
        if device.decision == "pending":
            raise Refused("authorization_pending", "Nobody has decided yet")
        device.decision = "used"
        return self._issue_pair(self._new_family(client, device.scope), terms)

    def _issue_pair(self, family: Family, terms: Terms) -> dict[str, object]:
        fields = self._issue(family.client, family.scope, terms, family)
        return fields | {"refresh_token": self._new_refresh(family)}

    def _issue(
        self, client: str, scope: str, terms: Terms, family: Family | None
    ) -> dict[str, object]:
        if terms.single:
            for access in self._access.values():
                if access.client == client and access.family is family:
                    access.live = False
        now, token = time.monotonic(), f"spar-at-{secrets.token_hex(16)}"
        self._access[token] = Access(client, scope, now, now + terms.lifetime, family)
        self.ledger.issued()
        stated = whole(terms.lifetime if terms.claim is None else terms.claim)
        fields: dict[str, object] = {"access_token": token, "token_type": "Bearer"}
        return fields | {"expires_in": stated, "scope": scope}

    def _new_family(self, client: str, scope: str) -> Family:
        self._families.append(Family(client, scope))
        return self._families[-1]

    def _new_refresh(self, family: Family) -> str:
        token = f"spar-rt-{secrets.token_hex(16)}"
        self._refresh[token] = Refresh(family)
        return token

    def _betray(self, family: Family, description: str) -> NoReturn:
        family.live = False
        self.ledger.reused()
        raise Refused("invalid_grant", description)

    def _doomed(self, token: str | None) -> Iterable[Family]:
        if token is None:
            return self._families
        holder = self._refresh.get(token) or self._access.get(token)
        return [holder.family] if holder and holder.family else []
