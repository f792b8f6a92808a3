"""The page of a connect link, as a browser without a user here meets it."""

import logging
import re

from clients import administration, application, apply_text
from django.http import HttpResponseBase
from django.test import Client

from outkey.administration.engine.connecting.linking import LinkWish
from outkey.foundation.core.secret import Secret
from outkey.spar import Spar

HOST = "outkey.test"
URL = f"http://{HOST}/connect/"
GERMAN = {"accept-language": "de"}
DOCUMENT = """
[configuration.books]
base_url = "{url}"
network = "internal"
preset = "hubspot"
authentication_type = "bearer"
connections = "required"
headers = [{{ key = "X-App-Key", secret = true }}]
[configuration.books.verification]
test_path = "/bearer"
[configuration.books.connect]
shared = ["header:X-App-Key"]
[configuration.books.connect.variables]
region = "entered"
"""
GOOD = {"token": "spar-token", "variable:region": "eu1"}
WRONG = {"token": "a-wrong-token", "variable:region": "eu1"}


class Log(logging.Handler):
    """Collects what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


log = Log()
logging.getLogger().addHandler(log)
for name in ("django", "outkey"):
    logging.getLogger(name).addHandler(log)


def link(connection: str = "acme", **wish: object) -> str:
    """Return the path of a new link."""
    linking = application.linking(administration)
    url = linking.create("books", connection, LinkWish(**wish)).url  # type: ignore[arg-type]
    assert url.startswith(URL), url
    return url.removeprefix(f"http://{HOST}")


def browser() -> Client:
    return Client(SERVER_NAME=HOST, enforce_csrf_checks=True)


def text(response: HttpResponseBase) -> str:
    return str(response.content.decode())  # type: ignore[attr-defined]


def post(
    client: Client, path: str, values: dict[str, str], **headers: str
) -> HttpResponseBase:
    """Post the form of a page as a browser does."""
    client.get(path)
    cookie = client.cookies["outkey_csrf"].value  # Django takes it as it is
    form = {"csrfmiddlewaretoken": cookie} | values
    headers = {"origin": f"http://{HOST}", **headers}
    return client.post(path, form, headers=headers)


def send(connection: str) -> int:
    gateway = application.gateway
    return gateway.send("books", "GET", "/bearer", connection=connection).status


def the_page_shows_what_to_enter_and_uses_nothing_up() -> None:
    path = link()
    for _ in range(12):
        response = browser().get(path)
        assert response.status_code == 200
    page = text(response)
    names = re.findall(r'<input[^>]*\sname="([^"]+)"', page)
    assert names == ["csrfmiddlewaretoken", "token", "variable:region"]
    assert re.search(r'name="token"\s+type="password"', page)
    assert 'for="entry-token"' in page
    assert "https://" not in page  # nothing of other hosts
    assert response["Cache-Control"] == "no-store"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]
    assert "script-src" not in response["Content-Security-Policy"]
    assert browser().head(path).status_code == 200
    assert browser().options(path).status_code == 405


def the_page_speaks_the_language_of_the_browser() -> None:
    page = text(browser().get(link(), headers=GERMAN))
    assert '<html lang="de">' in page
    assert "Verbinden" in page
    assert 'lang="de"' in text(browser().get("/connect/x", headers=GERMAN))


def what_was_entered_connects_and_leads_back() -> None:
    path = link(return_url="https://app.example/settings/books?tab=1")
    client = browser()
    response = post(client, path, GOOD)
    assert response.status_code == 303, text(response)
    assert response["Location"] == (
        "https://app.example/settings/books?tab=1&connection=acme&status=connected"
    )
    assert response["Cache-Control"] == "no-store"
    assert send("acme") == 200
    tries = client.get(path), post(client, path, GOOD)
    for again in tries:
        assert again.status_code == 410
        assert "Ask for a new link" in text(again)


def without_a_return_url_a_page_tells_it() -> None:
    response = post(browser(), link("b"), GOOD)
    assert response.status_code == 200
    assert "books is connected" in text(response)
    assert "spar-token" not in text(response)


def a_try_that_fails_says_why_and_shows_no_secret() -> None:
    path = link("c")
    response = post(browser(), path, WRONG)
    page = text(response)
    assert response.status_code == 422
    assert "Status 401" in page
    assert "a-wrong-token" not in page
    assert 'value="eu1"' in page
    assert 'role="alert"' in page
    missing = post(browser(), path, {"token": ""})
    assert missing.status_code == 422
    assert 'href="#entry-token"' in text(missing)
    assert 'aria-invalid="true"' in text(missing)
    assert post(browser(), path, GOOD).status_code == 200


def ten_tries_end_the_link() -> None:
    path = link("d")
    statuses = [post(browser(), path, WRONG).status_code for _ in range(10)]
    assert statuses == [422] * 9 + [410], statuses
    assert browser().get(path).status_code == 410


def a_form_from_elsewhere_is_refused() -> None:
    path = link("e")
    assert browser().post(path, GOOD).status_code == 403  # without the token
    for origin in ("https://evil.example", "null"):
        response = post(browser(), path, GOOD, origin=origin)
        assert response.status_code == 403
        assert "was not accepted" in text(response)
    other = browser()
    other.get(path)
    wrong = GOOD | {"csrfmiddlewaretoken": "x" * 64}
    assert other.post(path, wrong).status_code == 403
    assert post(browser(), path, GOOD).status_code == 200


def what_is_not_a_link_is_not_found() -> None:
    for path in ("x", "x" * 43, f"{'x' * 43}/", "é", "a/b"):
        response = browser().get(f"/connect/{path}")
        assert response.status_code == 404, path
        assert "no such link" in text(response)


def an_api_that_does_not_respond_is_a_failure_of_the_try() -> None:
    path = link("f")
    spar.close()
    response = post(browser(), path, GOOD)
    assert response.status_code == 422
    assert browser().get(path).status_code == 200


with Spar() as spar:
    policy = application.key_file.parent / "policy.toml"
    policy.write_text('[connect]\nreturn_urls = ["https://app.example/settings"]\n')
    apply_text(DOCUMENT.format(url=spar.url))
    administration.set_secret("books", "header:X-App-Key", Secret("app-key"))
    the_page_shows_what_to_enter_and_uses_nothing_up()
    the_page_speaks_the_language_of_the_browser()
    what_was_entered_connects_and_leads_back()
    without_a_return_url_a_page_tells_it()
    a_try_that_fails_says_why_and_shows_no_secret()
    ten_tries_end_the_link()
    a_form_from_elsewhere_is_refused()
    what_is_not_a_link_is_not_found()
    an_api_that_does_not_respond_is_a_failure_of_the_try()
application.audit.flush()
lines = "\n".join(log.lines)
assert "/connect/" not in lines, lines
facts = application.audit_trail.rows.newest(500)
assert "spar-token" not in str(facts)
assert "/connect/" not in str(facts)
