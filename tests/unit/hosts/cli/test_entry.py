"""The command without the packages that it needs."""

import subprocess
import sys

import pytest

import outkey
from outkey.foundation.core.errors import ConfigError
from outkey.hosts.cli.entry import main
from outkey.hosts.cli.main import run
from outkey.spar.__main__ import serve


def test_a_missing_package_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "outkey.hosts.cli.main", raising=False)
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "error: the command line needs more packages."
        " Install outkey[server] in place of outkey alone.\n"
    )


def test_an_installation_cannot_be_opened_without_its_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "outkey.hosts.server.home", raising=False)
    monkeypatch.setitem(sys.modules, "django", None)
    with pytest.raises(ConfigError, match="needs packages that are missing") as caught:
        outkey.open()
    assert "Install outkey[server]" in caught.value.hint


def test_the_sparring_provider_names_what_tls_needs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "trustme", None)
    assert serve(0, tls=True) == 2
    assert capsys.readouterr().err == (
        "error: --tls needs the package trustme. Install outkey[server].\n"
    )


def test_the_sparring_provider_is_served_without_an_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served: list[tuple[int, bool]] = []

    def record(port: int, *, tls: bool) -> int:
        served.append((port, tls))
        return 0

    monkeypatch.setattr("outkey.spar.__main__.serve", record)
    assert run(["spar"]) == 0
    assert run(["spar", "--port", "9001", "--tls"]) == 0
    assert served == [(9000, False), (9001, True)]


def test_a_module_of_our_own_that_is_missing_is_a_defect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "outkey.hosts.server.home", None)
    with pytest.raises(ModuleNotFoundError, match=r"outkey\.hosts\.server\.home"):
        outkey.open()
    monkeypatch.setitem(sys.modules, "outkey.hosts.cli.main", None)
    with pytest.raises(ModuleNotFoundError, match=r"outkey\.hosts\.cli\.main"):
        main()


def test_the_package_loads_what_is_used_and_nothing_else() -> None:
    program = (
        "import sys, outkey;"
        " loaded = {'asyncio', 'httptools', 'outkey.sending.engine.gateway'};"
        " assert not loaded & {*sys.modules}, loaded & {*sys.modules};"
        " assert outkey.Secret is outkey.Secret;"
        " assert {*outkey.__all__} <= {*dir(outkey)};"
        " names = {name: getattr(outkey, name) for name in outkey.__all__};"
        " assert all(names.values());"
        " assert names['errors'].OutkeyError; assert loaded <= {*sys.modules};"
        " assert not hasattr(outkey, 'nothing')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
