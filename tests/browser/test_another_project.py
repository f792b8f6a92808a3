"""A Django project that exists already gets the pages by adding the app."""

from pathlib import Path

from programs import assert_program_passes


def test_adding_the_app_is_enough(tmp_path: Path) -> None:
    embedded = tmp_path / "embedded"
    assert_program_passes("browser/another_project", embedded, tmp_path / "home")
    assert not embedded.exists()
