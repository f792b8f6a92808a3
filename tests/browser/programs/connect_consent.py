"""Connecting an account by a user's consent, as browsers without a user here do."""

import json
import re
from typing import cast
from urllib.parse import parse_qs, quote, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from clients import administration, application, apply_text
from django.http import HttpResponse
from django.test import Client

from outkey.administration.engine.connecting.linking import LinkWish
from outkey.foundation.core.secret import Secret
from outkey.spar import Spar

HOST = "outkey.test"
PUBLIC = f"http://{HOST}"
DOCUMENT = """
[configuration.books]
base_url = "{{instance_url}}"
network = "internal"
connections = "required"
allowed_origins = ["{url}"]
authentication_type = "bearer"
token_source = "oauth2"
[configuration.books.verification]
test_path = "/oauth/api"
[configuration.books.oauth2]
grant = "authorization_code"
authorization_url = "{url}/oauth/authorize?auto=1{more}"
token_url = "{url}/oauth/token?{bend}"
client_id = "spar-client"
[configuration.books.connect]
account = "company"
request_url = "{url}/oauth/api"
[configuration.books.connect.variables]
instance_url = "token:instance_url"
company = "token:company"
client = "request:client"
issuer = "redirect:iss"
"""


class NoRedirect(HTTPRedirectHandler):
    """Leaves a redirect to the program."""

    def redirect_request(self, *_: object) -> None:
        return None


def configure(company: str = "7", more: str = "") -> None:
    """Save the configuration; the provider says that this is the company."""
    fields = json.dumps({"instance_url": spar.url, "company": company})
    bend = f"bend={quote(fields)}"
    apply_text(DOCUMENT.format(url=spar.url, bend=bend, more=more))
    administration.set_secret("books", "client_secret", Secret("spar-client-secret"))


def link(connection: str = "acme", **wish: object) -> str:
    """Return the path of a new link."""
    linking = application.linking(administration)
    made = linking.create("books", connection, LinkWish(**wish))  # type: ignore[arg-type]
    return made.url.removeprefix(PUBLIC)


def browser() -> Client:
    return Client(SERVER_NAME=HOST, enforce_csrf_checks=True)


def begin(client: Client, path: str) -> str:
    """Post the form of a link, and return where the browser goes."""
    assert client.get(path).status_code == 200
    token = client.cookies["outkey_csrf"].value
    response = client.post(
        path, {"csrfmiddlewaretoken": token}, headers={"origin": PUBLIC}
    )
    assert response.status_code == 303, response.content
    return str(response["Location"])


def agree(url: str) -> str:
    """Agree at the provider, and return where the browser is sent back to."""
    try:
        build_opener(NoRedirect).open(url)
    except OSError as error:  # a redirect that is not followed
        back = str(error.headers["Location"])  # type: ignore[attr-defined]
        assert back.startswith(f"{PUBLIC}/connect/callback?"), back
        return back.removeprefix(PUBLIC)
    raise AssertionError(url)


def get(client: Client, path: str) -> HttpResponse:
    return cast("HttpResponse", client.get(path))


def text(response: HttpResponse) -> str:
    return response.content.decode()


def send(connection: str) -> int:
    gateway = application.gateway
    return gateway.send("books", "GET", "/oauth/api", connection=connection).status


def variables(connection: str) -> dict[str, str]:
    seen = application.connections(administration).current("books", connection)
    assert seen.connection is not None
    return dict(seen.connection.variables)


def a_user_agrees_and_the_account_is_connected() -> None:
    client = browser()
    path = link(return_url="https://app.example/settings")
    url = begin(client, path)
    query = parse_qs(urlsplit(url).query)
    assert query["redirect_uri"] == [f"{PUBLIC}/connect/callback"]
    assert query["code_challenge_method"] == ["S256"]
    cookie = client.cookies["outkey_connect"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    response = get(client, agree(url))
    assert response.status_code == 303, text(response)
    assert response["Location"] == (
        "https://app.example/settings?connection=acme&status=connected"
    )
    assert send("acme") == 200
    stored = variables("acme")
    assert stored == {
        "instance_url": spar.url,
        "company": "7",
        "client": "spar-client",
        "issuer": spar.issuer,
    }
    assert get(client, path).status_code == 410


def another_browser_cannot_finish_and_the_right_one_still_can() -> None:
    client = browser()
    back = agree(begin(client, link("b")))
    other = browser()
    begin(other, link("other"))
    spar.clear()
    for stranger in (browser(), other):
        response = get(stranger, back)
        assert response.status_code == 403
        assert "another browser" in text(response)
    changed = re.sub(r"state=...", "state=xxx", back)
    assert get(client, changed).status_code == 403
    assert get(client, "/connect/callback").status_code == 403
    assert spar.journal == []
    response = get(client, back)
    assert response.status_code == 200, text(response)
    assert send("b") == 200


def a_callback_is_good_for_one_time() -> None:
    client = browser()
    back = agree(begin(client, link("c")))
    assert get(client, back).status_code == 200
    spar.clear()
    assert get(client, back).status_code == 403
    assert spar.journal == []
    assert send("c") == 200


def two_links_in_one_browser_do_not_disturb_each_other() -> None:
    client = browser()
    first = agree(begin(client, link("d")))
    second = agree(begin(client, link("e")))
    assert get(client, first).status_code == 200
    assert get(client, second).status_code == 200


def a_user_who_does_not_agree_is_told_so() -> None:
    configure(more="&decision=deny")
    client = browser()
    path = link("f")
    response = get(client, agree(begin(client, path)))
    assert response.status_code == 422
    assert "did not authorize the access" in text(response)
    assert get(client, path).status_code == 200
    configure()


def a_falsified_redirect_fails_the_try() -> None:
    configure(more="&twist=iss")
    client = browser()
    back = agree(begin(client, link("f")))
    spar.clear()
    response = get(client, back)
    assert response.status_code == 422, text(response)
    assert spar.journal == []
    configure()


def another_account_is_refused_unless_the_link_allows_it() -> None:
    configure(company="8")
    client = browser()
    response = get(client, agree(begin(client, link())))
    assert response.status_code == 422
    assert "account changed" in text(response).lower()
    assert variables("acme")["company"] == "7"
    path = link(allow_other_account=True)
    assert get(client, agree(begin(client, path))).status_code == 200
    assert variables("acme")["company"] == "8"
    assert send("acme") == 200
    configure()


def a_variable_that_leads_elsewhere_fails_the_try() -> None:
    fields = json.dumps({"instance_url": "http://127.0.0.1:1", "company": "7"})
    bend = f"bend={quote(fields)}"
    apply_text(DOCUMENT.format(url=spar.url, bend=bend, more=""))
    administration.set_secret("books", "client_secret", Secret("spar-client-secret"))
    client = browser()
    response = get(client, agree(begin(client, link("g"))))
    assert response.status_code == 422, text(response)
    assert variables("g") == {}
    configure()


def of_two_who_come_back_one_wins() -> None:
    path = link("h")
    browsers = browser(), browser()
    first, second = [agree(begin(client, path)) for client in browsers]
    assert get(browsers[0], first).status_code == 200
    assert get(browsers[1], second).status_code == 410
    assert send("h") == 200


def a_provider_that_is_down_fails_the_try() -> None:
    text_of_down = DOCUMENT.replace('token_url = "{url}', 'token_url = "http://[::1]:9')
    apply_text(text_of_down.format(url=spar.url, bend="", more=""))
    administration.set_secret("books", "client_secret", Secret("spar-client-secret"))
    client = browser()
    path = link("i")
    response = get(client, agree(begin(client, path)))
    assert response.status_code == 422, text(response)
    assert get(client, path).status_code == 200
    assert variables("i") == {}


with Spar() as spar:
    policy = application.key_file.parent / "policy.toml"
    policy.write_text('[connect]\nreturn_urls = ["https://app.example/settings"]\n')
    configure()
    a_user_agrees_and_the_account_is_connected()
    another_browser_cannot_finish_and_the_right_one_still_can()
    a_callback_is_good_for_one_time()
    two_links_in_one_browser_do_not_disturb_each_other()
    a_user_who_does_not_agree_is_told_so()
    a_falsified_redirect_fails_the_try()
    another_account_is_refused_unless_the_link_allows_it()
    a_variable_that_leads_elsewhere_fails_the_try()
    of_two_who_come_back_one_wins()
    a_provider_that_is_down_fails_the_try()
application.audit.flush()
facts = application.audit_trail.rows.newest(1000)
connected = [
    fact["connection"] for fact in facts if fact["tag"] == "api:connection:connected"
]
assert sorted(connected) == ["acme", "acme", "b", "c", "d", "e", "h"], connected
