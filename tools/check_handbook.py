"""Search the built handbook in Chromium, as a reader does, and check what is found."""

import functools
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from pictures import CHROMIUM, FLAGS, PATIENCE
from playwright.sync_api import expect, sync_playwright

HTML = Path(__file__).parent.parent / "docs" / "_build" / "html"
# What a reader types, and a page that must be among the results.
SEARCHES = {
    "webhook": "guide/webhooks.html",
    "rotate": "guide/command-line.html",
    "OUTKEY_HOME": "reference/environment.html",
    "redirect_blocked": "explanation/one-send.html",
    "outkey.Gateway.asend": "reference/python.html",
    "preview curl": "reference/commands.html",
}


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""


def main() -> None:
    """Search for each of the texts."""
    handler = functools.partial(QuietHandler, directory=str(HTML))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(base_url=f"http://127.0.0.1:{server.server_port}")
        for text, wanted in SEARCHES.items():
            page.goto(f"/search.html?q={text}")
            found = page.locator(f'#search-results a[href*="{wanted}"]')
            try:
                expect(found.first).to_be_visible(timeout=PATIENCE)
            except AssertionError:
                sys.exit(f"error: a search for {text!r} does not find {wanted}")
        browser.close()
    server.shutdown()


if __name__ == "__main__":
    main()
