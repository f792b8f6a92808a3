"""What commands are given: files, standard input, prompts and headers."""

import sys
from pathlib import Path

import typer

from outkey.core.errors import ConfigError


def split_header(line: str) -> tuple[str, str]:
    """Return name and value of a header that was given as KEY:VALUE."""
    name, colon, value = line.partition(":")
    if not colon:
        raise ConfigError("a header is KEY:VALUE", field="header")
    return name.strip(), value.strip()


def read_text(file: str) -> str:
    """Return the text of a file, or of standard input for `-`."""
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError("there is no such file", field="FILE") from None
    except (OSError, UnicodeDecodeError):
        raise ConfigError(
            "the document cannot be read as UTF-8 text", field="FILE"
        ) from None


def read_data(data: str) -> bytes:
    """Return a body: the text itself, the file behind `@`, or standard input for `-`."""
    if data == "-":
        return sys.stdin.buffer.read()
    if data.startswith("@"):
        try:
            return Path(data[1:]).read_bytes()
        except OSError:
            raise ConfigError(
                "the file of the body cannot be read", field="data"
            ) from None
    return data.encode()


def read_secret(field: str, origin: str) -> str:
    """Return a secret from a prompt, or from standard input without its last line break."""
    if sys.stdin.isatty():
        return str(
            typer.prompt(
                f"New value for {field}, to be sent to {origin}", hide_input=True
            )
        )
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")
