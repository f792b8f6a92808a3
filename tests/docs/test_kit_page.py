"""The guide to testing your own code: its files are a project whose tests pass."""

import json
import re
from pathlib import Path

import pytest

import outkey
from outkey.hosts.file.loading import from_text
from outkey.spar import Spar
from outkey.testing import FakeGateway, UnexpectedRequest

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "test-your-code.md"
TEXT = PAGE.read_text("utf-8")
DOCUMENT = """
[configuration.shop]
base_url = "https://shop.example"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_files_of_the_page_are_a_project_whose_tests_pass(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for code in blocks("py"):
        name = code.partition("\n")[0].removeprefix("# ")
        assert name.endswith(".py")
        (pytester.path / name).write_text(code, encoding="utf-8")
    (pytester.path / "outkey.toml").write_text(DOCUMENT, encoding="utf-8")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    result = pytester.runpytest_subprocess(
        "-p", "outkey.testing.pytest_plugin", "-W", "error"
    )
    tests = sum(code.count("def test_") for code in blocks("py"))
    result.assert_outcomes(passed=tests)
    assert tests >= 6


def test_the_message_of_the_page_is_the_real_one() -> None:
    gateway = FakeGateway()
    gateway.on("shop", "GET", "/orders", params={"page": 2}).respond(json=[])
    gateway.on("shop", "POST", "/orders", json={"article": 7}).respond(201)
    with pytest.raises(UnexpectedRequest) as caught:
        gateway.send("shop", "GET", "/orders", params={"page": 3})
    [text] = blocks("text")
    assert text == f"{caught.value}\n"


def test_the_recording_of_the_page_is_a_real_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_TOKEN", "spar-token")
    path = tmp_path / "recording.json"
    with Spar() as spar:
        document = (
            f'[configuration.acme]\nbase_url = "{spar.url}"\nnetwork = "internal"\n'
            'authentication_type = "bearer"\ntoken = "env:ACME_TOKEN"\n'
        )
        with (
            from_text(document) as real,
            FakeGateway.record(real, path) as gateway,
        ):
            gateway.send("acme", "GET", "/bearer")
    [shown] = blocks("json")
    recording = json.loads(path.read_text("utf-8"))
    headers = recording["exchanges"][0]["response"]["headers"]
    headers.pop("Server", None)
    assert json.loads(shown) == recording


def test_every_method_of_the_fake_is_on_the_page() -> None:
    own = vars(FakeGateway).keys() - vars(outkey.Gateway).keys()
    for name in own:
        assert name.startswith("_") or f"{name}(" in TEXT, name
