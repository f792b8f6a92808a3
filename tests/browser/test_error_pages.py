"""What went wrong, said in the layout and with what to do next."""

from pathlib import Path

from programs import assert_program_passes


def test_every_error_is_a_page_that_says_what_to_do(tmp_path: Path) -> None:
    done = assert_program_passes("browser/error_pages", tmp_path / "home")
    # Anybody can send any host: the page says what to do, and the log stays readable.
    assert "Invalid HTTP_HOST" not in done.stderr
