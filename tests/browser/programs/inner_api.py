"""A sparring provider, and a configuration of it in the internal network."""

from outkey.spar import Spar

spar = Spar().__enter__()
INNER = f"""
[configuration.inner]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
headers = [{{ key = "X-API-Key" }}]
verification = {{ test_path = "/bearer" }}
"""
CONSENT = f"""
[configuration.consent]
base_url = "{spar.url}"
network = "internal"
authentication_type = "bearer"
token_source = "oauth2"
[configuration.consent.oauth2]
grant = "authorization_code"
issuer = "{spar.issuer}"
authorization_url = "{spar.url}/oauth/authorize?auto=1"
token_url = "{spar.url}/oauth/token"
revocation_url = "{spar.url}/oauth/revoke"
client_id = "spar-client"
"""
