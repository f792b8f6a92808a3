"""The pytest plugin of outkey: the fixture `outkey_gateway`.

pytest loads it in every project that has outkey installed. So it imports nothing but
pytest until a test asks for the fixture.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from outkey.testing.gateway.fake_gateway import FakeGateway


@pytest.fixture
def outkey_document() -> str | Path | None:
    """Return the TOML document of `outkey_gateway`.

    Define a fixture of this name in your conftest.py to use a document. Without one,
    any configuration name is known.
    """
    return None


@pytest.fixture
def outkey_gateway(
    request: pytest.FixtureRequest, outkey_document: str | Path | None
) -> Iterator["FakeGateway"]:
    """Return a `FakeGateway`; in the test, `outkey.open()` returns it too.

    The test fails if it sent a request without a rule, also where the code under test
    has caught that error.
    """
    from outkey.testing.gateway.fake_gateway import FakeGateway  # noqa: PLC0415 - see above

    gateway = FakeGateway(outkey_document)
    failures = request.session.testsfailed
    with gateway.installed():
        yield gateway
    # A test that failed has reported it already.
    if request.session.testsfailed == failures:
        gateway.assert_all_expected()
