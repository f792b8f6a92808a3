"""The example script for AWS, with the values of an import filled in."""

import re
from collections.abc import Mapping

_END = "\n# They hold for REGION and SERVICE as above"


def aws_script(
    text: str, *, region: str, service: str, headers: Mapping[str, str]
) -> str:
    """Return the script for this region and service, without its examples.

    The examples hold for the region and service of the example only.
    """
    text = text.partition(_END)[0].rstrip() + "\n"
    for name, value in (("REGION", region), ("SERVICE", service)):
        if value:
            text = _with_constant(text, name, value)
    if headers:
        text = _with_constant(text, "MORE_HEADERS", dict(headers))
    return text


def _with_constant(text: str, name: str, value: object) -> str:
    line = f"{name} = {value!r}"
    return re.sub(rf"(?m)^{name} = .*$", lambda _: line, text, count=1)
