"""The command without the packages that it needs."""

import sys

import pytest

from outkey.hosts.cli.entry import main


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
        " Install them: pip install 'outkey[server]'\n"
    )


def test_a_module_of_our_own_that_is_missing_is_a_defect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "outkey.hosts.cli.main", None)
    with pytest.raises(ModuleNotFoundError, match=r"outkey\.hosts\.cli\.main"):
        main()
