"""The example scripts that an import fills in; a test compares them with examples/."""

from importlib.resources import files


def aws_script() -> str:
    """Return the example script for AWS Signature Version 4."""
    return (
        files("outkey.importing.adapters")
        .joinpath("templates/aws_sigv4.txt")
        .read_text("utf-8")
    )
