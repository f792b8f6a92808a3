"""The state and rules of the authorization server: clients, codes, token families.

No HTTP here; that is in `authorization.py`. Public methods are safe for threads.
"""

import hmac
import secrets
import time
from collections import Counter, deque
from collections.abc import Mapping
from threading import RLock
from typing import NoReturn

from outkey.spar.records import (
    SCOPE,
    Access,
    Code,
    Device,
    Family,
    Fields,
    GrantCounts,
    OAuth1Tokens,
    OAuthError,
    Pushed,
    Refresh,
    Sessions,
    Terms,
    check_verifier,
    claims_of,
    new_key,
    required_parameter,
)
from outkey.spar.token_exchange import EXCHANGE_GRANT, exchanged_subject

CLIENT = "spar-client"
CLIENT_SECRET = "spar-client-secret"  # noqa: S105 - made up and public
# A public client has no secret (RFC 6749 §2.1).
PUBLIC_CLIENT = "spar-public"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
GRANTS = (
    "client_credentials",
    "refresh_token",
    "authorization_code",
    DEVICE_GRANT,
    EXCHANGE_GRANT,
)
# Grants of the token endpoint for applications without a secret.
KEYLESS_GRANTS = ("password", "urn:ietf:params:oauth:grant-type:jwt-bearer")

_CODE_LIFETIME = 60
_DEVICE_LIFETIME = 600
# RFC 8628 §6.1: letters that spell no words and are not mistaken for each other.
_USER_CODE_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_SLOW_DOWN = 5.0


class Authority:
    """The authorization server without HTTP, and what tests control it by."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._clients = {CLIENT: CLIENT_SECRET, PUBLIC_CLIENT: ""}
        self._next_secrets: dict[str, str] = {}  # as good as the others
        self._families: list[Family] = []
        self._refresh: dict[str, Refresh] = {}
        self._access: dict[str, Access] = {}
        self._codes: dict[str, Code] = {}
        self._pushed: dict[str, Pushed] = {}
        self._devices: dict[str, Device] = {}
        self._user_codes: dict[str, Device] = {}
        self._next: deque[str] = deque()
        self._assertions: set[str] = set()
        self.oauth1 = OAuth1Tokens()
        self.sessions = Sessions()
        self._requests: Counter[str] = Counter()
        self._reuses = 0

    # ── control by tests ──────────────────────────────────────────────────────────────

    def seed_refresh(self, client: str = CLIENT, scope: str = SCOPE) -> str:
        """Return a live refresh token, as if a user had just approved."""
        with self._lock:
            return self._new_refresh(self._new_family(client, scope))

    def expire_all(self) -> None:
        """Let every access token expire now."""
        with self._lock:
            now = time.monotonic()
            for access in self._access.values():
                access.expires = min(access.expires, now)

    def revoke_family(self) -> None:
        """Revoke every family of tokens, as if all users had withdrawn approval."""
        with self._lock:
            for family in self._families:
                family.live = False

    def next_responses(self, *names: str) -> None:
        """Send these odd responses, in turn, to the next token requests."""
        with self._lock:
            self._next.extend(names)

    def add_client(self, client: str, secret: str = "") -> None:
        """Register a client; without a secret it is a public one."""
        with self._lock:
            self._clients[client] = secret

    def add_next_secret(self, client: str, secret: str) -> None:
        """Accept another secret, or key, of a client besides the one it has."""
        with self._lock:
            self._next_secrets[client] = secret

    def enrol(self, client: str) -> str:
        """Register a client that signs, and return its private key."""
        self.add_client(client, new_key())
        return self._clients[client]

    def counts(self) -> GrantCounts:
        """Return the counts of requests and tokens so far."""
        with self._lock:
            now = time.monotonic()
            live = sum(family.live for family in self._families)
            return GrantCounts(
                token_requests=self._requests.total(),
                by_grant=dict(self._requests),
                reuses=self._reuses,
                live_families=live,
                dead_families=len(self._families) - live,
                live_access_tokens=sum(
                    access.is_usable(now) for access in self._access.values()
                ),
            )

    # ── requests ──────────────────────────────────────────────────────────────────────

    def count_request(self, grant: str) -> None:
        """Count a token request."""
        with self._lock:
            # An unknown grant might be a credential in the wrong field.
            is_known = grant in GRANTS + KEYLESS_GRANTS
            self._requests[grant if is_known else "other"] += 1

    def next_response(self) -> str:
        """Return the name of the odd response to send now, or nothing."""
        with self._lock:
            return self._next.popleft() if self._next else ""

    def knows(self, client: str) -> bool:
        """Whether a client is registered."""
        with self._lock:
            return client in self._clients

    def authenticate(self, client: str, secret: str) -> None:
        """Refuse a client that is unknown or has another secret."""
        with self._lock:
            secrets = self._secrets_of(client)
        matches = [
            hmac.compare_digest(expected.encode(), secret.encode())
            for expected in secrets
        ]
        if not any(matches):
            raise OAuthError("invalid_client", "Unknown client or wrong secret", 401)

    def _secrets_of(self, client: str) -> list[str]:
        known = (self._clients.get(client), self._next_secrets.get(client))
        return [secret for secret in known if secret is not None]

    def check_assertion(self, client: str, assertion: str, audience: str) -> None:
        """Refuse an assertion of another client, or a repeated one (RFC 7523 §3)."""
        with self._lock:
            secrets = self._secrets_of(client) or [""]
            found = (claims_of(assertion, secret) for secret in secrets)
            claims = next(filter(None, found), {})
            is_for_us = str(claims.get("aud", "")).startswith(audience)
            is_of_client = claims.get("sub") == client
            number = str(claims.get("jti"))
            if not is_for_us or not is_of_client or number in self._assertions:
                raise OAuthError("invalid_client", "The assertion is invalid", 401)
            self._assertions.add(number)

    def note_assertion(self, number: str) -> bool:
        """Note the number of an assertion; return whether it is new."""
        with self._lock:
            is_new = bool(number) and number not in self._assertions
            self._assertions.add(number)
            return is_new

    def grant(self, client: str, form: Mapping[str, str], terms: Terms) -> Fields:
        """Return the response to a token request (RFC 6749 §5.1), or refuse it."""
        with self._lock:
            grant = required_parameter(form, "grant_type")
            if not client and grant != EXCHANGE_GRANT:
                raise OAuthError("invalid_client", "A client is needed", 401)
            match grant:
                case "client_credentials":
                    return self._client_credentials(client, form, terms)
                case "refresh_token":
                    return self._refresh_token(client, form, terms)
                case "authorization_code":
                    return self._authorization_code(client, form, terms)
                case "urn:ietf:params:oauth:grant-type:device_code":
                    return self._device_code(client, form, terms)
                case "urn:ietf:params:oauth:grant-type:token-exchange":
                    return self._token_exchange(client, form, terms)
                case _:
                    raise OAuthError("unsupported_grant_type", "No such grant")

    def mint(self, terms: Terms, client: str = CLIENT, scope: str = SCOPE) -> Fields:
        """Issue an access token without a grant."""
        with self._lock:
            return self._issue(client, scope, terms, None)

    def log_in(self, terms: Terms) -> Fields:
        """Issue the tokens of a new session."""
        with self._lock:
            return self._issue_pair(self._new_family(CLIENT, SCOPE), SCOPE, terms)

    def log_out(self, token: str) -> bool:
        """End the session of a token; return whether it was live."""
        with self._lock:
            issued = self._access.get(token) or self._refresh.get(token)
            family = issued.family if issued else None
            if family is None or not family.live:
                return False
            family.live = False
            return True

    def approve(
        self, client: str, redirect_uri: str, challenge: str, scope: str
    ) -> str:
        """Return the code for an approval of the user (RFC 6749 §4.1.2)."""
        with self._lock:
            code = f"spar-code-{secrets.token_hex(16)}"
            expires = time.monotonic() + _CODE_LIFETIME
            self._codes[code] = Code(
                client, redirect_uri, challenge, scope or SCOPE, expires
            )
            return code

    def push(self, client: str, parameters: Mapping[str, str], seconds: float) -> str:
        """Store parameters of an authorization, and return their name (RFC 9126)."""
        with self._lock:
            name = f"urn:ietf:params:oauth:request_uri:{secrets.token_hex(16)}"
            expires = time.monotonic() + seconds
            self._pushed[name] = Pushed(client, dict(parameters), expires)
            return name

    def pushed(self, client: str, name: str, *, used: bool) -> dict[str, str]:
        """Return the parameters of a pushed request; `used` ends it."""
        with self._lock:
            request = self._pushed.get(name)
            if (
                request is None
                or request.client != client
                or time.monotonic() > request.expires
            ):
                raise OAuthError(
                    "invalid_request_uri", "The request_uri is unknown, used or expired"
                )
            if used:
                del self._pushed[name]
            return request.parameters

    def device(self, client: str, scope: str, interval: float) -> Fields:
        """Start a device authorization (RFC 8628 §3.2)."""
        with self._lock:
            device = Device(
                client, scope or SCOPE, time.monotonic() + _DEVICE_LIFETIME, interval
            )
            device_code = f"spar-device-{secrets.token_hex(16)}"
            letters = "".join(secrets.choice(_USER_CODE_LETTERS) for _ in range(8))
            self._devices[device_code] = self._user_codes[letters] = device
        user_code = f"{letters[:4]}-{letters[4:]}"
        facts: Fields = {"device_code": device_code, "user_code": user_code}
        return facts | {"expires_in": _DEVICE_LIFETIME, "interval": int(interval)}

    def decide(self, user_code: str, decision: str) -> bool:
        """Record the decision for a user code; return whether there is such a code."""
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
            return access if access and access.is_usable(time.monotonic()) else None

    def revoke(self, client: str, token: str) -> None:
        """Revoke a token; a refresh token with its whole family (RFC 7009 §2.1)."""
        with self._lock:
            refresh = self._refresh.get(token)
            target = self._access.get(token) or (refresh and refresh.family)
            if not target:
                return  # RFC 7009 §2.2: an unknown token is not an error
            if target.client != client:
                raise OAuthError(
                    "unauthorized_client", "The token belongs to another client"
                )
            target.live = False

    def introspect(self, token: str) -> Fields:
        """Describe a live token (RFC 7662 §2.2), and nothing about any other."""
        with self._lock:
            refresh = self._refresh.get(token)
            family = refresh.family if refresh and refresh.used is None else None
            grant = self.access(token) or family
            if grant is None or not grant.live:
                return {"active": False}
            return {"active": True, "client_id": grant.client, "scope": grant.scope}

    # ── grants; the lock is held ──────────────────────────────────────────────────────

    def _client_credentials(
        self, client: str, form: Mapping[str, str], terms: Terms
    ) -> Fields:
        if not self._clients[client]:
            # RFC 6749 §4.4: confidential clients only.
            raise OAuthError(
                "unauthorized_client", "A public client has no credentials"
            )
        return self._issue(client, form.get("scope", SCOPE), terms, None)

    def _refresh_token(
        self, client: str, form: Mapping[str, str], terms: Terms
    ) -> Fields:
        refresh = self._refresh.get(required_parameter(form, "refresh_token"))
        if (
            refresh is None
            or refresh.family.client != client
            or not refresh.family.live
        ):
            raise OAuthError("invalid_grant", "The refresh token is unknown or revoked")
        family = refresh.family
        now = time.monotonic()
        scope = form.get("scope", family.scope)
        if not set(scope.split()) <= set(family.scope.split()):
            raise OAuthError("invalid_scope", "More than was approved")  # RFC 6749 §6
        if refresh.used is not None and now - refresh.used > terms.grace:
            self._revoke_reused(family, "The refresh token was used before")
        refresh.used = now if refresh.used is None else refresh.used
        return self._issue_pair(family, scope, terms)

    def _authorization_code(
        self, client: str, form: Mapping[str, str], terms: Terms
    ) -> Fields:
        code = self._codes.get(required_parameter(form, "code"))
        if code is None or code.client != client or time.monotonic() > code.expires:
            raise OAuthError("invalid_grant", "The code is unknown or expired")
        if code.family is not None:
            # RFC 6749 §4.1.2: deny, and revoke what was issued for this code.
            self._revoke_reused(code.family, "The code was used before")
        if code.redirect_uri != form.get("redirect_uri"):
            raise OAuthError(
                "invalid_grant", "Another redirect_uri than the code was issued for"
            )
        if code.challenge:
            check_verifier(required_parameter(form, "code_verifier"), code.challenge)
        code.family = self._new_family(client, code.scope)
        return self._issue_pair(code.family, code.scope, terms)

    def _device_code(
        self, client: str, form: Mapping[str, str], terms: Terms
    ) -> Fields:
        device = self._devices.get(required_parameter(form, "device_code"))
        if device is None or device.client != client or device.decision == "used":
            raise OAuthError("invalid_grant", "The device code is unknown or used")
        now = time.monotonic()
        is_early = device.polled is not None and now - device.polled < device.interval
        device.polled = now
        if now > device.expires:
            raise OAuthError("expired_token", "The user did not approve in time")
        if device.decision == "deny":
            raise OAuthError("access_denied", "The user denied it")
        if is_early:
            device.interval += _SLOW_DOWN  # RFC 8628 §3.5
            raise OAuthError("slow_down", "Faster than the interval")
        if device.decision == "pending":
            raise OAuthError("authorization_pending", "The user has not decided yet")
        device.decision = "used"
        return self._issue_pair(
            self._new_family(client, device.scope), device.scope, terms
        )

    def _token_exchange(
        self, client: str, form: Mapping[str, str], terms: Terms
    ) -> Fields:
        subject = exchanged_subject(form, terms)
        fields = self._issue(client, form.get("scope", SCOPE), terms, None)
        self._access[str(fields["access_token"])].subject = subject
        kind = "urn:ietf:params:oauth:token-type:access_token"
        return fields | {"issued_token_type": kind}

    def _issue_pair(self, family: Family, scope: str, terms: Terms) -> Fields:
        fields = self._issue(family.client, scope, terms, family)
        return fields | {"refresh_token": self._new_refresh(family)}

    def _issue(
        self, client: str, scope: str, terms: Terms, family: Family | None
    ) -> Fields:
        token = f"spar-at-{secrets.token_hex(16)}"
        expires = time.monotonic() + terms.lifetime
        self._access[token] = Access(client, scope, expires, family)
        fields: Fields = {"access_token": token, "token_type": "Bearer"}
        return fields | {"expires_in": int(terms.lifetime), "scope": scope}

    def _new_family(self, client: str, scope: str) -> Family:
        self._families.append(Family(client, scope))
        return self._families[-1]

    def _new_refresh(self, family: Family) -> str:
        token = f"spar-rt-{secrets.token_hex(16)}"
        self._refresh[token] = Refresh(family)
        return token

    def _revoke_reused(self, family: Family, description: str) -> NoReturn:
        family.live = False
        self._reuses += 1
        raise OAuthError("invalid_grant", description)
