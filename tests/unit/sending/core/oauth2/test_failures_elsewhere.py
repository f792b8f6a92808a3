"""The errors of token requests at other URLs than the Token URL."""

from collections.abc import Callable

import pytest

from outkey.foundation.core.errors import OutkeyError, ProxyFailed
from outkey.sending.core.aws.sts import sts_failure
from outkey.sending.core.login.failures import login_failure
from outkey.sending.core.oauth1.legs import leg_failure
from outkey.sending.core.oauth2.responses import exchange_failure, failure
from outkey.sending.core.request.csrf import csrf_failure
from outkey.sending.core.request.proxy import FAILURES

FAILURES_OF_SOURCES = (
    failure,
    exchange_failure,
    login_failure,
    csrf_failure,
    leg_failure,
    sts_failure,
)


@pytest.mark.parametrize("reason", FAILURES)
@pytest.mark.parametrize("failure_of", FAILURES_OF_SOURCES)
def test_a_failure_of_the_proxy_is_reported_as_such_by_every_source(
    failure_of: Callable[[str], OutkeyError], reason: str
) -> None:
    error = failure_of(reason)
    assert isinstance(error, ProxyFailed)
    assert (error.reason, error.field) == (reason, "proxy.url")


@pytest.mark.parametrize("failure_of", FAILURES_OF_SOURCES)
def test_an_unknown_reason_is_reported_as_a_refusal(
    failure_of: Callable[[str], OutkeyError],
) -> None:
    unknown = failure_of("a-reason-of-a-later-version")
    assert unknown.message == failure_of("refused").message
    assert unknown.hint == failure_of("refused").hint
