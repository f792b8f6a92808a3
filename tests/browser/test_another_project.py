"""A Django project that exists already gets the pages by adding the app."""

from pathlib import Path

from programs import run_program


def test_adding_the_app_is_enough(tmp_path: Path) -> None:
    embedded = tmp_path / "embedded"
    run_program("browser/another_project", embedded, tmp_path / "home")
    assert not embedded.exists()
