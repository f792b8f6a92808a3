"""What google-auth and azure-identity send for a token, as JSON; nothing is sent.

Standard input has the service account, the scope, and the token of a workload.
"""

import json
import sys
from typing import Any
from urllib.parse import parse_qsl

from azure.core.pipeline.transport import HttpRequest, HttpTransport
from azure.identity import ClientAssertionCredential
from google.oauth2 import service_account

GRANTED = {"access_token": "made-up", "token_type": "Bearer", "expires_in": 3600}


def google(account: dict[str, str], scope: str, subject: str) -> dict[str, Any]:
    """Return the token request of google-auth."""
    sent: dict[str, Any] = {}

    def request(
        url: str, method: str, body: bytes, headers: dict[str, str], **_: object
    ) -> object:
        form = dict(parse_qsl(body.decode(), keep_blank_values=True))
        kind = headers.get("Content-Type")
        sent.update(url=url, method=method, form=form, content_type=kind)
        return type("Response", (), {"status": 200, "data": json.dumps(GRANTED)})()

    credentials = service_account.Credentials.from_service_account_info(
        account, scopes=[scope], subject=subject or None
    )
    credentials.refresh(request)
    return sent


class Recorded(HttpTransport):  # type: ignore[misc]  # without types
    """Answers the requests of msal, and keeps the one for a token."""

    def __init__(self) -> None:
        self.sent: dict[str, Any] = {}

    def open(self) -> None: ...

    def close(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def send(self, request: "HttpRequest", **_: object) -> "Answer":
        document: dict[str, Any] = GRANTED
        if "openid-configuration" in request.url:
            base = request.url.partition("/v2.0")[0]
            document = {
                "token_endpoint": f"{base}/oauth2/v2.0/token",
                "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
                "issuer": f"{base}/v2.0",
            }
        else:
            body = request.body
            pairs = body.items() if isinstance(body, dict) else parse_qsl(body)
            self.sent = {"url": request.url, "form": dict(pairs)}
        text = json.dumps(document)
        return Answer(request, text)


class Answer:
    """As much of a response as azure-identity reads."""

    status_code = 200
    reason = "OK"
    content_type = "application/json"

    def __init__(self, request: "HttpRequest", text: str) -> None:
        self.request = request
        self.headers = {"Content-Type": self.content_type}
        self._text = text

    def text(self, _encoding: str | None = None) -> str:
        return self._text

    def body(self) -> bytes:
        return self._text.encode()


def azure(client: str, scope: str, token: str) -> dict[str, Any]:
    """Return the token request of azure-identity."""
    transport = Recorded()
    credential = ClientAssertionCredential(
        "11111111-2222-3333-4444-555555555555",
        client,
        lambda: token,
        transport=transport,
        disable_instance_discovery=True,
    )
    credential.get_token(scope)
    return transport.sent


def main() -> None:
    given = json.load(sys.stdin)
    scope = given["scope"]
    result = {
        "google": google(given["account"], scope, ""),
        "delegated": google(given["account"], scope, "user@acme.example"),
        "azure": azure("erp", scope, given["token"]),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
