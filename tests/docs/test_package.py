"""The wheel and the source distribution: what is inside, and whether they work alone.

`--full` installs the wheel into a new environment, which downloads its dependencies.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path

import httpx
import pytest

from docs.blocks import ROOT
from outkey.spar import Spar
from ports import free_port

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NAME = f"outkey-{PROJECT['version']}"
DOCS = ("_build", "_pictures")
MADE_BY_TOOLS = shutil.ignore_patterns("__pycache__", *DOCS, ".*_cache", "node_modules")
# What a project needs of a source distribution to build it and to run its tests.
IN_SDIST = (
    *("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "Makefile"),
    *("src/outkey/py.typed", "tests/conftest.py", "tools/reference.py"),
    *("requirements/dev.lock", "changelog.d/template.md", "docs/index.md"),
)
LIBRARY_ALONE = Path(__file__).parent / "programs" / "library_alone.py"


@dataclass(frozen=True)
class Built:
    """A wheel and a source distribution of a copy of the checkout."""

    copy: Path
    wheel: Path
    sdist: Path

    def files(self) -> dict[str, bytes]:
        with zipfile.ZipFile(self.wheel) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def metadata(self) -> Message:
        text = self.files()[f"{NAME}.dist-info/METADATA"].decode()
        return Parser().parsestr(text)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    copy = tmp_path_factory.mktemp("copy") / "outkey"
    shutil.copytree(ROOT, copy, ignore=ignored_by_copy)
    build(copy, copy / "dist")
    return Built(
        copy,
        wheel=copy / "dist" / f"{NAME}-py3-none-any.whl",
        sdist=copy / "dist" / f"{NAME}.tar.gz",
    )


def ignored_by_copy(folder: str, names: list[str]) -> set[str]:
    """Return what is not a part of the checkout."""
    in_root = {".git", ".venv", ".venv-bench", "dist"} if folder == str(ROOT) else set()
    return MADE_BY_TOOLS(folder, names) | in_root & {*names}


def build(folder: Path, destination: Path, *options: str) -> None:
    """Build without a network: the build backend is a development dependency."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", destination, *options]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(built: Built) -> None:
    package = built.copy / "src"
    expected = {
        str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()
    }
    packed = {name for name in built.files() if ".dist-info/" not in name}
    assert packed == expected
    kinds = {Path(name).suffix for name in packed}
    assert {".py", ".html", ".css", ".js", ".svg", ".mo", ".toml", ".typed"} <= kinds
    assert not [name for name in packed if "/tests/" in name or "conftest" in name]
    added = {name for name in built.files() if ".dist-info/" in name}
    assert added == {
        f"{NAME}.dist-info/{name}"
        for name in (
            *("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"),
        )
    }


def test_no_packed_file_names_a_folder_of_this_machine(built: Built) -> None:
    places = {str(ROOT), str(built.copy), sys.prefix}
    for name, content in built.files().items():
        assert not [place for place in places if place.encode() in content], name


def test_the_metadata_are_those_of_the_project(built: Built) -> None:
    metadata = built.metadata()
    assert metadata["Version"] == PROJECT["version"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert {*metadata.get_all("Provides-Extra", [])} == {
        *PROJECT["optional-dependencies"]
    }
    without_extra = [
        requirement
        for requirement in metadata.get_all("Requires-Dist", [])
        if "extra ==" not in requirement
    ]
    names = {re.split(r"[<>=,;\[ ]", requirement)[0] for requirement in without_extra}
    assert names == {"cryptography", "httptools", "jmespath"}


def test_the_sdist_is_whole_and_builds_the_same_wheel(
    built: Built, tmp_path: Path
) -> None:
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / NAME
    assert [name for name in IN_SDIST if not (source / name).is_file()] == []
    build(source, tmp_path / "dist", "-t", "wheel")
    again = tmp_path / "dist" / built.wheel.name
    assert digest(again) == digest(built.wheel)


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_guide_lists_every_extra_with_its_packages() -> None:
    page = (ROOT / "docs" / "guide" / "install.md").read_text("utf-8")
    rows = re.findall(r"^\| (\(none\)|`\w+`) \| .* \| (.*) \|$", page, re.MULTILINE)
    listed = {extra.strip("`"): {*packages.split(", ")} for extra, packages in rows}
    extras = {"(none)": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    assert listed == {
        extra: {re.split(r"[<>=\[]", package)[0] for package in packages}
        for extra, packages in extras.items()
    }


# ── installed in an environment of its own ──────────────────────────────────────────


@dataclass(frozen=True)
class Installed:
    """A new environment, away from the checkout, in which commands run."""

    environment: Path
    folder: Path

    def install(self, requirement: str) -> None:
        """Install with the versions of the lock file."""
        lock = (ROOT / "requirements" / "server.lock").read_text("utf-8")
        pinned = re.findall(r"^([\w.-]+==[^ ;\\]+)", lock, re.MULTILINE)
        constraints = self.folder / "constraints.txt"
        constraints.write_text("\n".join(pinned), "utf-8")
        pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = self.run("python", *pip, "--constraint", str(constraints), requirement)
        assert done.returncode == 0, done.stderr

    def run(
        self, program: str, *arguments: str, **settings: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.environment / "bin" / program, *arguments],
            cwd=self.folder,
            env=self.settings | settings,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    @property
    def settings(self) -> dict[str, str]:
        """What every process sees; pip is configured by its own variables."""
        kept = {
            key: value for key, value in os.environ.items() if key.startswith("PIP_")
        }
        home = {"HOME": str(self.folder), "OUTKEY_HOME": str(self.folder / "home")}
        return {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"} | kept | home


@pytest.fixture(scope="module")
def installed(
    built: Built, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installed]:
    """The wheel in a new environment, without the copy that it was built from."""
    folder = tmp_path_factory.mktemp("elsewhere")
    wheel = folder / built.wheel.name
    shutil.copy(built.wheel, wheel)
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    moved = built.copy / "src"
    moved.rename(built.copy / "removed")
    installed = Installed(environment, folder)
    installed.install(str(wheel))
    yield installed
    (built.copy / "removed").rename(moved)


@pytest.mark.full
def test_the_library_alone_sends_and_the_rest_says_what_to_install(
    installed: Installed,
) -> None:
    with Spar() as spar:
        done = installed.run(
            "python",
            *("-I", str(LIBRARY_ALONE), spar.url, str(installed.environment)),
            ACME_TOKEN="spar-token",
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "200",
        "Install outkey[server], or use outkey.load with a document.",
    ]
    for arguments in ([], ["--version"], ["serve"], ["list", "--json"]):
        refused = installed.run("outkey", *arguments)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr == (
            "error: the command line needs more packages."
            " Install outkey[server] in place of outkey alone.\n"
        )
    tls = installed.run("python", "-m", "outkey.spar", "--tls", "--port", "0")
    assert (tls.returncode, "outkey[server]" in tls.stderr) == (2, True)


@pytest.mark.full
def test_the_server_of_the_wheel_serves_its_pages_and_a_test_passes(
    installed: Installed,
) -> None:
    installed.install(f"{installed.folder / NAME}-py3-none-any.whl[server]")
    version = installed.run("outkey", "--version")
    assert version.stdout.strip() == PROJECT["version"]
    port = free_port()
    program = installed.environment / "bin" / "outkey"
    with (installed.folder / "log").open("w") as log:
        server = subprocess.Popen(
            [program, "serve", "--demo", "--port", str(port)],
            cwd=installed.folder,
            env=installed.settings,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert server.stdout is not None
        password = next(
            line.split()[-1] for line in server.stdout if "Password" in line
        )
        try:
            assert_pages_load(f"http://127.0.0.1:{port}", password)
            listed = installed.run("outkey", "list", "--json")
            names = re.findall(r'"name": "([^"]+)"', listed.stdout)
            assert names, listed.stderr
            codes = [installed.run("outkey", "test", name).returncode for name in names]
            assert 0 in codes, dict(zip(names, codes, strict=True))
        finally:
            server.terminate()
            server.wait(60)
            server.stdout.close()


def assert_pages_load(url: str, password: str) -> None:
    """Sign in, and load the first page with all its files."""
    transport = httpx.HTTPTransport(retries=20)
    with httpx.Client(
        base_url=url, transport=transport, timeout=60, follow_redirects=True
    ) as client:
        page = client.get("/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token is not None
        form = {"username": "admin", "password": password} | {
            "csrfmiddlewaretoken": token[1]
        }
        home = client.post(page.url, data=form, headers={"Referer": url})
        assert home.status_code == 200
        assert "Sign out" in home.text
        files = {*re.findall(r'(?:href|src)="(/static/[^"#]+)', page.text + home.text)}
        assert {Path(file).suffix for file in files} >= {".css", ".js"}
        for file in files:
            assert client.get(file).status_code == 200, file
