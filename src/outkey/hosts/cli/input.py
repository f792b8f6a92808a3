"""Input of commands: files, standard input, prompts and headers."""

import sys
from pathlib import Path

import typer

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text


def split_header(line: str) -> tuple[str, str]:
    """Return name and value of a header that was passed as KEY:VALUE."""
    name, colon, value = line.partition(":")
    if not colon:
        raise ConfigError(Text("a header must be KEY:VALUE"), field="header")
    return name.strip(), value.strip()


def split_variables(settings: list[str]) -> dict[str, str]:
    """Return the variables of `--set` by name."""
    values: dict[str, str] = {}
    for setting in settings:
        variable, sign, value = setting.partition("=")
        if not sign or variable in values:
            raise ConfigError(
                Text("--set takes a variable and its value, each variable once"),
                hint=Text("Write it as --set VARIABLE=VALUE."),
            )
        values[variable] = value
    return values


def read_text(file: str) -> str:
    """Return the text of a file, or of standard input for `-`."""
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(
            Text("the file {file} does not exist", file=file), field="FILE"
        ) from None
    except (OSError, UnicodeDecodeError):
        raise ConfigError(
            Text("the document cannot be read as UTF-8 text"), field="FILE"
        ) from None


def read_data(data: str) -> bytes:
    """Return a body: the text itself, the file behind `@`, or stdin for `-`."""
    if data == "-":
        return sys.stdin.buffer.read()
    if not data.startswith("@"):
        return data.encode()
    try:
        return Path(data[1:]).read_bytes()
    except OSError:
        raise ConfigError(
            Text("the file of the body cannot be read"), field="data"
        ) from None


def read_reference(reference: str | None) -> Secret | None:
    """Return the secret that an option refers to, as env:NAME or file:PATH."""
    if reference is None:
        return None
    from outkey.sending.adapters.secrets.secrets_reference import ReferencedSecrets
    from outkey.sending.core.configuration.reference import parse_reference

    field = "subject_token"
    return ReferencedSecrets().open_reference(
        parse_reference(reference, field=field), field
    )


def read_line(question: str) -> str:
    """Return a line from a prompt, or from standard input without its line break."""
    if sys.stdin.isatty():
        return str(typer.prompt(question))
    return sys.stdin.readline().strip()


def read_secret(field: str, origin: str) -> str:
    """Return a secret from a prompt, or from standard input without its line break."""
    if sys.stdin.isatty():
        question = f"New value for {field}, to be sent to {origin}"
        return str(typer.prompt(question, hide_input=True))
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")
