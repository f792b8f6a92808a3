"""No process of a home sends requests to the pages that the home serves."""

import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

import forks
from cli.conftest import Terminal
from outkey.spar import Spar
from ports import free_port


@contextmanager
def serving(outkey: Terminal, host: str) -> Iterator[int]:
    """Serve the pages on a free port, which is returned."""
    port = free_port()
    arguments = ["serve", "--host", host, "--port", str(port)]
    process = forks.Popen(
        [*forks.OUTKEY, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=outkey.environment,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}")
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def wait_for(url: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError:
            return  # the pages serve, though not under this name
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server did not start")


def send_to(outkey: Terminal, url: str) -> tuple[int, str]:
    outkey(
        "apply",
        "-",
        stdin=(
            f'[configuration.own]\nbase_url = "{url}"\nnetwork = "internal"\n'
            'environment = "test"\n'
        ),
    )
    sent = outkey("request", "own", "/")
    return sent.code, sent.err


@pytest.mark.parametrize(
    ("host", "spellings"),
    [
        ("127.0.0.1", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"]),
        ("0.0.0.0", ["127.0.0.1", "127.9.9.9", "localhost", "[::ffff:127.0.0.1]"]),
    ],
)
def test_the_pages_are_refused_in_every_spelling(
    outkey: Terminal, spar: Spar, host: str, spellings: list[str]
) -> None:
    with serving(outkey, host) as port:
        for spelling in spellings:
            code, said = send_to(outkey, f"http://{spelling}:{port}")
            assert code == 3, (spelling, said)
            assert "error[egress_denied]" in said
            assert "this outkey installation itself" in said
        # Another port of the same machine is another service.
        code, said = send_to(outkey, spar.url)
        assert (code, said) == (0, "")
    assert (
        "this outkey installation itself"
        not in send_to(outkey, f"http://127.0.0.1:{port}")[1]
    )


def test_without_the_key_a_home_that_was_never_served_opens_its_pages(
    ready: Terminal,
) -> None:
    (ready.home / "config" / "key").unlink()
    port = free_port()
    process = forks.Popen(
        [*forks.OUTKEY, "serve", "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=ready.environment,
    )
    try:
        assert process.stdout is not None
        greeting = [process.stdout.readline() for _ in range(6)]
        password = greeting[-1].split()[-1]
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, timeout=60) as browser:
            browser.get("/login/")
            form = {
                "username": "admin",
                "password": password,
                "csrfmiddlewaretoken": browser.cookies["outkey_csrf"],
            }
            signed_in = browser.post("/login/", data=form, headers={"Origin": url})
            assert signed_in.status_code == 302
            page = browser.get("/outkey/configuration/home/")
            assert page.status_code == 200
            assert "acme" in page.text
            assert browser.get("/readyz").json()["checks"]["key"] == "sealed"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        process.stdout.close()
    assert not (ready.home / "config" / "key").exists()
