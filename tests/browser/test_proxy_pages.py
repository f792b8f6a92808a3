"""A proxy and Digest, entered and tested in the browser."""

from playwright.sync_api import Page, expect

from browser.test_pages import new, preview, run_test, save, tab
from contract.raw_peer import raw_peer

REFUSAL = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"


def test_a_proxy_is_entered_previewed_and_named_where_it_fails(page: Page) -> None:
    with raw_peer(REFUSAL) as peer:
        url = f"http://127.0.0.1:{peer.port}"
        new(page, "behind a proxy", "https://api.acme.example", "digest", "/")
        page.fill("#f-username", "alice")
        page.locator('[name="secret:password"]').fill("password-of-alice")
        tab(page, "Proxy")
        page.locator('[name="proxy.url"]').fill(url)
        page.locator('[name="proxy.username"]').fill("svc")
        page.locator('[name="secret:proxy.password"]').fill("password-of-svc")
        save(page)
        preview(page)
        outcome = page.locator("#outcome")
        expect(outcome.get_by_text(f"Through the proxy {url}")).to_be_visible()
        expect(outcome.get_by_text("Digest ***")).to_be_visible()
        expect(outcome.get_by_text("begins with a challenge")).to_be_visible()
        expect(page.locator("#curl")).to_contain_text("--proxy-user svc:")
        assert "The proxy requires other credentials" in run_test(page)
    assert all(request.startswith(b"CONNECT ") for request in peer.requests)
