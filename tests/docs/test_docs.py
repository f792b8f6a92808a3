"""The documentation: its examples must run, and its lists must be complete."""

import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import outkey
from cli.conftest import Terminal
from outkey.adapters.tokens_memory import MemoryTokens
from outkey.core.sync.line import Transform
from outkey.spar import Spar
from outkey.testing.canary import Canaries

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
KEYS_OF_LINES = ROOT / "docs" / "reference" / "lines.md"
PAGES_WITH_LINES = [ROOT / "docs" / "guide" / "synchronizing.md", KEYS_OF_LINES]
sys.path.insert(0, str(ROOT / "tools"))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_a_page_runs(
    page: Path, spar: Spar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACME_TOKEN", "spar-token")
    (tmp_path / "acme.toml").write_text(
        f'[configuration.acme]\nbase_url = "{spar.url}"\nnetwork = "internal"\n'
        'authentication_type = "bearer"\ntoken = "env:ACME_TOKEN"\n',
        encoding="utf-8",
    )
    names: dict[str, object] = {}
    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec"), names)  # our own pages
    for name in ("client", "gateway"):
        if name in names:
            names[name].close()  # type: ignore[attr-defined]
    shown = {"gateway", "world", "INSTALLED_APPS"}
    assert not blocks(page, "python") or shown & names.keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_toml_of_a_page_is_accepted(page: Path, tmp_path: Path) -> None:
    texts = blocks(page, "toml")
    if not texts:
        assert page.name != "first-steps.md"
        return
    whole = "\n".join(texts)
    if "base_url" not in texts[0]:
        whole = '[configuration.acme]\nbase_url = "https://api.acme.example"\n' + whole
    file = tmp_path / "a.toml"
    file.write_text(whole, encoding="utf-8")
    names = tomllib.loads(whole)["configuration"]
    name = "acme" if "acme" in names else next(iter(names))
    with outkey.load(file, tokens=MemoryTokens(time.time)) as gateway:
        assert gateway.test(name).findings[0].id == "E-secret_missing"


@pytest.mark.parametrize("page", PAGES_WITH_LINES, ids=lambda page: page.name)
def test_the_lines_of_a_page_run_as_they_are_shown(
    page: Path, spar: Spar, tmp_path: Path, canary: Canaries
) -> None:
    text = "\n".join(blocks(page, "toml"))
    assert "http://127.0.0.1:9000" in text
    environment = {"ACME_TOKEN": "spar-token", "OUTKEY_DEMO": "1"}
    run = Terminal(tmp_path / "home", canary, environment)
    applied = run("apply", "-", stdin=text.replace("http://127.0.0.1:9000", spar.url))
    assert applied.code == 0, applied.err
    for name, line in tomllib.loads(text)["line"].items():
        if "direction" not in line:
            suggested = run("line", "suggest", name)
            applied = run("apply", "-", stdin=suggested.out)
            assert applied.code == 0, applied.err
        assert run("line", "show", name, "--json").json["findings"] == []
        done = run("line", "run", name, "--json").json
        assert (done["state"], done["failed"]) == ("done", 0), done
        assert done["created"] + done["updated"] > 200


def test_the_whole_lines_of_the_reference_have_one_of_each_transform() -> None:
    lines = tomllib.loads("\n".join(blocks(KEYS_OF_LINES, "toml")))["line"].values()
    assert {
        field.get("transform", "as_is") for line in lines for field in line["fields"]
    } == {*Transform}


def test_the_reference_is_what_the_code_says() -> None:
    import reference

    for name, text in reference.pages().items():
        assert (reference.FOLDER / name).read_text("utf-8") == text, (
            f"{name} is out of date; run: python tools/reference.py"
        )


def test_a_condition_reads_as_a_sentence() -> None:
    from reference_fields import conditions

    from outkey.core.config.fields import BY_PATH
    from outkey.core.config.line_fields import PAGINATION_FIELDS

    device_url = BY_PATH["oauth2.device_url"]
    assert (
        conditions(device_url)
        == "Authentication Type is bearer, Token Source is oauth2, Grant is device_code"
    )
    assert conditions(PAGINATION_FIELDS[-1]) == "Kind of pages is cursor"
    assert conditions(BY_PATH["base_url"]) == "always"


def test_every_decision_has_its_number_and_four_headings() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    for number, page in enumerate(pages, start=1):
        text = page.read_text("utf-8")
        assert page.name.startswith(f"{number:04d}-")
        assert text.startswith(f"# {number:04d} ")
        assert "Status: " in text
        assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
            "Context",
            "Decision",
            "Consequences",
        ]


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["server"],
        *(d for group in project["dependency-groups"].values() for d in group),
    ]
    reasons = (ROOT / "docs" / "decisions" / "0003-dependencies.md").read_text("utf-8")
    for requirement in wanted:
        name = re.split(r"[<>=\[ ]", requirement)[0].removeprefix("types-")
        assert name in reasons, f"{name} has no reason in decision 0003"


def test_every_change_has_a_fragment_of_a_known_kind() -> None:
    for fragment in (ROOT / "changelog.d").glob("*.md"):
        kinds = {"added", "changed", "fixed", "security"}
        assert (
            fragment.name == "template.md" or fragment.suffixes[0].lstrip(".") in kinds
        )


def test_the_tour_visits_every_stop_and_leaks_nothing() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "tour.py"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={"COLUMNS": "200", "PATH": "/usr/bin:/bin"},
    )
    assert (
        "27 of 27 went as expected, and 0 requests reached the other origin"
        in done.stdout
    )
    for cause in (
        "works",
        "invalid_credentials",
        "token_expired",
        "header_format",
        "egress_denied",
        "script_error",
        "X-Signature: ***",
    ):
        assert cause in done.stdout
    for secret in (
        "open sesame",
        "spar-key",
        "b3BlbiBzZXNhbWU",
        "spar-token",
        "spar-signing",
    ):
        assert secret not in done.stdout + done.stderr


def test_every_text_of_the_pages_has_its_german() -> None:
    tool = ROOT / "tools" / "messages.py"
    done = subprocess.run(
        [sys.executable, tool, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
