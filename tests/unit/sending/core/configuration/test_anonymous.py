from outkey.foundation.core.fields.choices import AuthenticationType, RateHeaders
from outkey.foundation.core.origin import parse_url
from outkey.sending.core.configuration.anonymous import without_credentials_at
from outkey.sending.core.configuration.custom_rows import CustomHeader, QueryParameter
from outkey.testing import configuration

ORIGIN = parse_url("https://files.example").origin


def test_what_goes_to_another_origin_has_nothing_of_the_credentials() -> None:
    stored = configuration(
        authentication_type="basic",
        username="api",
        script="def compute_auth_header(sync_line): return {}",
        csrf__path="/csrf",
        tls__client_certificate="/etc/client.pem",
        tls__ca_file="/etc/ca.pem",
        limits__requests_per_minute=5,
        limits__rate_headers="all",
        limits__response_mebibytes=7,
        headers=(
            CustomHeader("X-Tenant", "7", secret=False),
            CustomHeader("X-Key", "", secret=True),
        ),
        query=(QueryParameter("tenant", "7", secret=False),),
    )
    bare = without_credentials_at(stored, ORIGIN)
    assert not bare.sends_credentials
    assert not bare.fetches_token
    assert bare.authentication_type is AuthenticationType.NONE
    assert (bare.headers, bare.query, bare.is_scripted) == ((), (), False)
    assert not bare.needs_csrf_token("POST")
    assert (bare.base.origin, bare.base_url) == (ORIGIN, "https://files.example")
    assert bare.tls_for(ORIGIN).client_certificate == ""
    assert bare.tls.ca_file == "/etc/ca.pem"
    assert bare.network is stored.network
    assert bare.limits.requests_per_minute is None
    assert bare.limits.rate_headers is RateHeaders.OFF
    assert bare.limits.response_mebibytes == 7
