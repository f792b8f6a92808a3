"""Signing scripts in the browser: editing, saving, trying, and what is not shown."""

import re

from playwright.sync_api import Browser, Page, expect

from browser.conftest import Served, log_in
from browser.test_pages import LIST, new, run_test, save, tab
from outkey.spar import Spar
from outkey.testing.canary import find

SECRET = "spar-signing-key"
SCRIPT = """\
import hashlib
import hmac
import time


def compute_auth_header(sync_line):
    secret = sync_line.api_config_id.get_secret_key()
    timestamp = str(int(time.time()))
    signature = hmac.new(
        secret.encode(), timestamp.encode(), hashlib.sha256
    ).hexdigest()
    return {"X-Timestamp": timestamp, "X-Signature": signature}
"""
FUNCTION = "def compute_auth_header(sync_line):\n"
AREA = "#f-script"
MESSAGE = '[data-field="script"] .ok-message'


GERMAN = {
    "None": ('Jeden Weg durch die Funktion so beenden: return {"X-Name": "text"}'),
    "[]": 'Schreiben: return {"X-Name": "text"}',
    "{'X': 'a\\n'}": "einen Header mit einem Zeilenumbruch oder einem NUL-Zeichen",
    "{'host': 'x'}": "den Header Host zurück, der zur Verbindung gehört",
    "{'X Y': 'x'}": "ohne Leerzeichen oder Doppelpunkt",
}


def begin(page: Page, spar: Spar, name: str, script: str = SCRIPT) -> None:
    """Fill in a configuration that signs, and stay on the tab Script."""
    new(page, name, spar.url, "none", "/signed")
    page.select_option("#f-no_auth_reason", "internal")
    tab(page, "Script")
    page.fill(AREA, script)
    page.locator('[name="secret:secret_key"]').fill(SECRET)


def run(page: Page, at: str = "") -> str:
    page.fill("#run-at", at)
    page.get_by_role("button", name="Run", exact=True).click()
    outcome = page.locator("#run-outcome")
    # It is busy and empty from the click on, and has all of its parts when it is not.
    expect(outcome).not_to_have_attribute("aria-busy", "true", timeout=20_000)
    expect(outcome.locator(".ok-note").first).to_be_visible()
    return outcome.inner_text()


def expect_headers(page: Page, *expected: str) -> None:
    """Names and lengths of the headers that the script has made."""
    expect(page.locator("#run-outcome tbody td")).to_have_text(expected)


def expect_numbers(page: Page, lines: int) -> None:
    """Each line has its number, so it is drawn."""
    numbers = [str(number) for number in range(1, lines + 1)]
    expect(page.locator(".ok-numbers span")).to_have_text(numbers)


def signature(spar: Spar) -> str:
    sent = {name.lower(): value for name, value in spar.journal[0].headers}
    return sent["x-signature"]


def test_the_specifications_example_is_written_run_tested_and_saved(
    page: Page, spar: Spar, served: Served
) -> None:
    begin(page, spar, "signs")
    texts = []
    for _ in range(2):  # as a draft, and as it is kept
        told = run(page, "1700000000")
        expect_headers(page, "X-Timestamp", "10", "X-Signature", "64")
        assert " ms with the start of its process." in told
        assert "1700000000" not in told
        spar.clear()
        assert "signs works." in run_test(page)
        expect(page.locator("#outcome .ok-step strong")).to_have_text(
            ["configuration", "secrets", "script", "connect", "request"]
        )
        texts.append(page.content())
        assert signature(spar) not in texts[-1]
        page.get_by_role("button", name="Preview request").click()
        row = page.locator("#outcome tr").filter(has_text="X-Signature")
        expect(row.locator("td")).to_have_text(["X-Signature", "***", "script"])
        texts.append(page.content())
        save(page)
        expect(page.get_by_text("signs was saved.")).to_be_visible()
        expect(page.locator(AREA)).to_have_value(SCRIPT)
    page.reload()
    texts += [
        page.content(),
        served.command("export", "signs"),
        served.command("audit", "list"),
    ]
    for text in texts:
        assert find(text.encode(), SECRET) == []


def test_a_moment_is_a_unix_time_or_a_date_and_enter_runs(
    page: Page, spar: Spar
) -> None:
    begin(
        page,
        spar,
        "moments",
        FUNCTION + "    import time\n    return {'X': str(time.time())}\n",
    )
    run(page, "2023-11-14 22:13:20")
    expect_headers(page, "X", str(len("1700000000.0")))
    for nonsense in ("yesterday", "nan", "inf", "-1", "9e99", "0001-01-01"):
        assert "Not a date and time" in run(page, nonsense)
    page.fill("#run-at", "0")
    page.press("#run-at", "Enter")
    expect(page.locator("#run-outcome tbody td").nth(1)).to_have_text("3")
    expect(page).to_have_url(re.compile("add/#script$"))


def test_a_syntax_error_is_told_with_its_line_and_the_text_stays(
    page: Page, spar: Spar
) -> None:
    wrong = "\n\n" + SCRIPT.replace("import hmac", "import import")
    begin(page, spar, "wrong", wrong)
    assert "line 4: this is not Python" in run(page)
    save(page)
    expect(page.locator(MESSAGE)).to_contain_text("Script line 4: this is not Python")
    expect(page.locator(AREA)).to_be_visible()
    expect(page.locator(AREA)).to_have_value(wrong)
    expect(page.locator(".ok-wrong")).to_have_text("4")
    expect(page.locator('[name="secret:secret_key"]')).to_have_value("")
    page.fill(AREA, "x = 1\n")
    save(page)
    expect(page.locator(MESSAGE)).to_contain_text("no function compute_auth_header")


def test_an_import_that_scripts_cannot_have_is_told_when_saving(
    page: Page, spar: Spar
) -> None:
    begin(page, spar, "imports", "import json\nimport requests\n" + SCRIPT)
    save(page)
    expect(page.locator(MESSAGE)).to_contain_text("line 2: requests cannot be imported")
    expect(page.locator(MESSAGE)).to_contain_text("Scripts may import base64")
    expect(page.locator(".ok-wrong")).to_have_text("2")
    page.fill(AREA, FUNCTION + "    return {'X': 1}\n")
    assert "Write a number as text: str(number)." in run(page)
    page.fill(AREA, FUNCTION + "    return {'host': 'evil.example'}\n")
    assert "The script returned the header Host, which belongs" in run(page)


def test_a_script_that_fails_tells_type_and_line_only(page: Page, spar: Spar) -> None:
    failing = (
        FUNCTION
        + "    secret = sync_line.api_config_id.get_secret_key()\n    {}[secret]\n"
    )
    begin(page, spar, "fails", failing)
    told = run(page)
    assert "The script raised KeyError in line 3." in told
    shown = SECRET in page.content()
    assert not shown
    assert "Cause: script error\n" in run_test(page)
    shown = SECRET in page.content()
    assert not shown
    page.fill(AREA, FUNCTION + "    return {}\n")
    assert "returned no header" in run(page)
    page.fill(AREA, "")
    assert "This configuration has no script" in run(page)


def test_an_example_that_gives_something_else_is_not_kept(
    page: Page, spar: Spar
) -> None:
    golden = 'GOLDEN = [{"secret": "x", "at": 1, "expect": {"X-Timestamp": "2"}}]\n'
    begin(page, spar, "golden", golden + SCRIPT)
    save(page)
    expect(page.locator(MESSAGE)).to_contain_text(
        "example 1 of GOLDEN returns other headers"
    )
    page.fill(AREA, 'GOLDEN = [{"expect": {}}]\n' + FUNCTION + "    return {}['x']\n")
    save(page)
    expect(page.locator(MESSAGE)).to_contain_text("raised KeyError in line 3")
    expect(page.locator(MESSAGE)).to_contain_text("in an example of GOLDEN")
    page.goto(LIST + "?q=golden")
    expect(page.locator(".ok-chip")).to_have_count(0)


def test_html_in_a_script_is_text_and_numbers_follow_the_lines(
    page: Page, spar: Spar
) -> None:
    evil = (
        '# </textarea></pre><img src=x onerror="alert(1)"><script>alert(2)</script>\n'
    )
    text = "\n" + evil + SCRIPT + f"X = '''{evil}'''\nY = \"<b>{{{{7*7}}}}\"  # <i>\n"
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.accept())[1])
    begin(page, spar, "inert", text)
    for _ in range(2):
        expect(page.locator(AREA)).to_have_value(text)
        expect_numbers(page, text.count("\n") + 1)
        layer = page.locator(".ok-layer")
        assert layer.evaluate("node => node.textContent") == text + "\n"
        assert (
            layer.evaluate("node => [...node.querySelectorAll(':not(span)')].length")
            == 0
        )
        expect(page.locator("img[src=x]")).to_have_count(0)
        save(page)
        tab(page, "Script")
    assert "alert" not in dialogs
    expect(page.locator(".ok-layer .ok-py-keyword")).to_have_text(
        ["import", "import", "import", "def", "return"]
    )
    expect(page.locator(".ok-layer .ok-py-name")).to_have_text(["compute_auth_header"])
    page.fill(AREA, "one\ntwo")
    expect_numbers(page, 2)


def test_the_keys_indent_and_let_the_keyboard_out(page: Page, spar: Spar) -> None:
    begin(page, spar, "keys", "")
    area = page.locator(AREA)
    area.focus()
    page.keyboard.type("if x:")
    page.keyboard.press("Enter")
    page.keyboard.type("y")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("z")
    expect(area).to_have_value("if x:\n    y\n        z")
    page.keyboard.press("Control+a")
    page.keyboard.press("Tab")
    expect(area).to_have_value("    if x:\n        y\n            z")
    page.keyboard.press("Control+z")
    expect(area).to_have_value("if x:\n    y\n        z")
    expect(page.get_by_text("press Escape, then Tab")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(area).not_to_be_focused()
    area.focus()
    page.keyboard.press("Shift+Tab")
    expect(area).not_to_be_focused()
    expect(area).to_have_value("if x:\n    y\n        z")


def test_layer_and_text_lie_on_each_other_and_nothing_is_wider_than_the_page(
    page: Page, spar: Spar
) -> None:
    text = SCRIPT + "# " + "x" * 300 + "\n" * 60
    begin(page, spar, "lies", text)
    expect_numbers(page, text.count("\n") + 1)
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        boxes = [page.locator(place).bounding_box() for place in (AREA, ".ok-layer")]
        assert boxes[0] == boxes[1]
        area = page.locator(AREA)
        assert area.evaluate("node => node.scrollWidth <= node.clientWidth + 1")
        assert area.evaluate("node => node.scrollHeight <= node.clientHeight + 1")
        body = "document.documentElement.scrollWidth <= innerWidth"
        assert page.evaluate(body), width


def test_without_our_scripts_a_plain_field_saves(page: Page, spar: Spar) -> None:
    # The name of a file has its digest in it.
    page.route(re.compile(r"/outkey/[\w.-]+\.js"), lambda route: route.abort())
    page.goto(LIST + "add/")
    expect(page.locator(".ok-live")).to_have_count(0)
    page.fill("#f-name", "plain")
    page.fill("#f-base_url", spar.url)
    page.select_option("#f-network", "internal")
    page.select_option("#f-authentication_type", "none")
    page.select_option("#f-no_auth_reason", "internal")
    page.fill(AREA, "\n" + SCRIPT)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("plain was saved.")).to_be_visible()
    expect(page.locator(AREA)).to_have_value("\n" + SCRIPT)
    expect(page.get_by_text("press Escape, then Tab")).to_be_hidden()


def test_the_tab_speaks_german(browser: Browser, served: Served) -> None:
    context = browser.new_context(base_url=served.url, locale="de-DE")
    context.set_default_timeout(10_000)
    page = context.new_page()
    log_in(page, "admin", served.password)
    page.goto(LIST + "?q=demo+script")
    page.get_by_role("link", name="demo script").click()
    page.get_by_role("tab", name=re.compile("^Skript")).click()
    page.get_by_role("button", name="Ausführen").click()
    expect(page.get_by_text("Das Skript hat diese Header erzeugt.")).to_be_visible()
    page.fill(AREA, "nicht nicht")
    page.get_by_role("button", name="Ausführen").click()
    expect(page.get_by_text("Skript, Zeile 1: das ist kein Python")).to_be_visible()
    for returned, told in GERMAN.items():
        page.fill(AREA, FUNCTION + f"    return {returned}\n")
        page.get_by_role("button", name="Ausführen").click()
        expect(page.get_by_text(told)).to_be_visible()
    page.fill(AREA, "import requests\n" + SCRIPT)
    page.locator("button.ok-primary[type=submit]").click()
    expect(
        page.get_by_text("Zeile 1: requests kann nicht importiert werden")
    ).to_be_visible()
    context.close()


def test_the_sample_works_against_the_sparring_provider(page: Page) -> None:
    page.goto(LIST + "?q=demo+script")
    expect(page.locator(".ok-chip")).to_have_text("working")
    page.get_by_role("link", name="demo script").click()
    assert "demo script works." in run_test(page)
