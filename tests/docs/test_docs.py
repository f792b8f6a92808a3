"""The documentation: its examples must run, and its lists must be complete."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import packages_distributions
from pathlib import Path
from pkgutil import walk_packages

import pytest
from babel.messages.pofile import read_po

import outkey
from cli.conftest import Terminal
from docs.test_links import anchors
from outkey.foundation.core.fields.choices import Choice
from outkey.sending.core.diagnosis.reasons import REASONS
from outkey.spar import Spar
from outkey.sync.core.line.line import Transform
from outkey.testing.canary import Canaries

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
    *sorted((ROOT / "docs" / "tutorial").glob("*.md")),
    *sorted((ROOT / "docs" / "explanation").glob("*.md")),
]
KEYS_OF_LINES = ROOT / "docs" / "reference" / "lines.md"
LINKED = re.compile(r"\[(\d{4})\]\(")  # decisions that a text links to
PAGES_WITH_LINES = [ROOT / "docs" / "guide" / "synchronizing.md", KEYS_OF_LINES]
sys.path.insert(0, str(ROOT / "tools"))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


def test_the_reference_describes_every_kind_of_verification() -> None:
    from reference_webhooks import KINDS

    from outkey.webhooks.core.schemes.scheme import VerificationKind

    assert {*KINDS, VerificationKind.SIGNATURE} == set(VerificationKind)


@pytest.mark.parametrize("page", ["commands.md", "http.md"])
def test_the_reference_lists_every_secret_that_can_be_set(page: str) -> None:
    from outkey.sending.core.configuration.fields import FIELDS

    text = (ROOT / "docs" / "reference" / page).read_text("utf-8")
    listed = re.findall(
        r"(?:The secret:|Fields are) (.*?) (?:or|and) `?token_header:", text
    )
    assert len(listed) == 1
    names = dict.fromkeys(field.secret_name for field in FIELDS if field.secret)
    rows = ["header:KEY", "query:KEY"]
    assert listed[0].replace("`", "").split(", ") == [*names, *rows]


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
    included: list[str] = []
    # Parts of a urls.py are shown without its imports.
    names: dict[str, object] = {"path": lambda *_parts: (), "include": included.append}
    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec"), names)  # our own pages
    for name in ("client", "gateway"):
        if name in names:
            names[name].close()  # type: ignore[attr-defined]
    shown = {"gateway", "world", "INSTALLED_APPS"}
    assert not blocks(page, "python") or shown & names.keys() or included
    for module in included:
        assert Path(ROOT / "src", *module.split(".")).with_suffix(".py").exists()


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
    # In a process of its own: some pages need Django.
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "reference.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_condition_reads_as_a_sentence() -> None:
    from reference_fields import conditions

    from outkey.sending.core.configuration.fields import BY_PATH
    from outkey.sync.core.line.fields import PAGINATION_FIELDS

    device_url = BY_PATH["oauth2.device_url"]
    assert (
        conditions(device_url)
        == "Authentication Type is bearer, Token Source is oauth2, Grant is device_code"
    )
    assert conditions(PAGINATION_FIELDS[-1]) == "Kind of pages is cursor"
    assert conditions(BY_PATH["base_url"]) == "always"


def test_every_decision_has_its_number_and_four_headings() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
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


def test_every_decision_is_listed_once_with_what_a_later_one_changed() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "index.md").read_text("utf-8")
    entries = re.findall(r"^- \[(\d{4})\]\((.*?)\): (.*)$", index, re.MULTILINE)
    files = sorted(page.name for page in folder.glob("0*.md"))
    assert sorted(file for _, file, _ in entries) == files
    for number, file, text in entries:
        assert file.startswith(number)
        _title, _empty, status, *_rest = (folder / file).read_text("utf-8").split("\n")
        changed_by = {later for later in LINKED.findall(status) if later > number}
        assert {link for link in LINKED.findall(text) if link > number} == changed_by


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


def test_the_layers_without_dependencies_must_not_import_any() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    requirements = [
        *project["project"]["dependencies"],
        *(d for e in project["project"]["optional-dependencies"].values() for d in e),
    ]
    wanted = {re.split(r"[<>=\[ ]", name)[0].lower() for name in requirements}
    modules = {
        module
        for module, names in packages_distributions().items()
        if module[0] != "_" and wanted.intersection(map(str.lower, names))
    }
    assert len(modules) > 15  # some extras may be missing
    [contract] = (
        contract
        for contract in project["tool"]["importlinter"]["contracts"]
        if contract["name"] == "core, ports and engine import nothing from PyPI"
    )
    assert modules - set(contract["forbidden_modules"]) == set()


KINDS = ["highlights", "upgrade", "added", "changed", "fixed", "security"]
TITLES = ["Highlights", "Before you upgrade", "Added", "Changed", "Fixed", "Security"]


def test_every_change_has_a_fragment_of_a_known_kind() -> None:
    for fragment in (ROOT / "changelog.d").glob("*.md"):
        if fragment.name == "template.md":
            continue
        kind = fragment.suffixes[0].lstrip(".")
        assert kind in KINDS
        if kind not in KINDS[:2]:  # those are written as a whole before a release
            assert fragment.read_text("utf-8").count("\n") == 1, fragment.name


def test_the_next_release_begins_with_what_matters_and_its_links_lead_somewhere(
    tmp_path: Path,
) -> None:
    (tmp_path / "changelog.d").mkdir()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(ROOT / "changelog.d" / "template.md", tmp_path / "changelog.d")
    shutil.copy(ROOT / "CHANGELOG.md", tmp_path)
    for kind in KINDS:
        text = f"- {kind}\n- more\n" if kind in KINDS[:2] else f"{kind}\n"
        (tmp_path / "changelog.d" / f"x.{kind}.md").write_text(text, "utf-8")
    subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--version", "9.9.9", "--yes"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    text = (tmp_path / "CHANGELOG.md").read_text("utf-8")
    releases = re.split(r"\n\n## ", text)
    assert releases[1].startswith("9.9.9 (")
    titles = re.findall(r"^### (.*)\n\n- (.*)$", releases[1], re.MULTILINE)
    assert titles == list(zip(TITLES, KINDS, strict=True))
    assert "\n- more\n" in releases[1]
    assert releases[-1].startswith("0.1.0 (")
    written = [
        ROOT / "CHANGELOG.md",
        *(ROOT / "changelog.d").glob("*.highlights.md"),
        *(ROOT / "changelog.d").glob("*.upgrade.md"),
    ]
    links = [
        link
        for page in written
        for link in re.findall(r"\]\(([^)]+)\)", page.read_text("utf-8"))
    ]
    for link in links:
        file, _, fragment = link.partition("#")
        assert (ROOT / file).is_file(), link
        assert not fragment or fragment in anchors(ROOT / file), link


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


def test_every_label_of_a_choice_has_its_german() -> None:
    for module in walk_packages(outkey.__path__, "outkey."):
        if ".core." in module.name:
            import_module(module.name)
    labels = {
        choice.label.template for kind in Choice.__subclasses__() for choice in kind
    }
    catalogue = ROOT / "src/outkey/hosts/django/locale/de/LC_MESSAGES/django.po"
    with catalogue.open("rb") as file:
        texts = {message.id for message in read_po(file, "de")}
    assert not {label for label in labels if any(map(str.isalpha, label))} - texts


def test_the_numbers_of_the_readme_are_those_of_the_code() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    presets = len(list((ROOT / "src" / "outkey" / "presets").glob("*.toml")))
    assert f"| known providers | {presets} |" in text
    assert f"names one of {len(REASONS)} [reasons]" in text


def test_the_number_of_schemes_is_that_of_the_code() -> None:
    from outkey.webhooks.core.schemes.schemes import SCHEMES

    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
    assert f"endpoints, {len(SCHEMES)} schemes, verification" in text


def test_the_picture_of_the_readme_is_small_and_as_wide_as_the_others() -> None:
    data = (ROOT / "docs" / "readme.png").read_bytes()
    assert len(data) < 150_000
    assert data.startswith(b"\x89PNG")
    assert int.from_bytes(data[16:20]) == 1200  # pixels; make readme-picture renews it
