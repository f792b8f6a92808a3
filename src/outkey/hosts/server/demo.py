"""Samples to try: each method, each failure of a sign-in, records to synchronize."""

import logging

from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.application import Application
from outkey.foundation.core.secret import Secret

# All are aimed at the sparring provider, whose credentials are made up and public.
_DOCUMENT = """
[configuration."demo basic"]
authentication_type = "basic"
username = "sparring"
verification = { test_path = "/basic" }
[configuration."demo bearer"]
authentication_type = "bearer"
verification = { test_path = "/bearer" }
[configuration."demo none"]
authentication_type = "none"
no_auth_reason = "development"
[configuration."demo api key"]
authentication_type = "none"
no_auth_reason = "internal"
headers = [{ key = "X-API-Key" }]
verification = { test_path = "/key" }
[configuration."demo script"]
authentication_type = "none"
no_auth_reason = "internal"
verification = { test_path = "/signed" }
script = '''
import hashlib
import hmac
import time


def compute_auth_header(sync_line):
    secret = sync_line.api_config_id.get_secret_key()
    timestamp = str(int(time.time()))
    signature = hmac.new(secret.encode(), timestamp.encode(), hashlib.sha256)
    return {"X-Timestamp": timestamp, "X-Signature": signature.hexdigest()}
'''
[configuration."demo oauth2"]
authentication_type = "bearer"
token_source = "oauth2"
verification = { test_path = "/oauth/api" }
oauth2.token_url = "SPAR/oauth/token"
oauth2.revocation_url = "SPAR/oauth/revoke"
oauth2.client_id = "spar-client"
[configuration."demo oauth2 consent"]
authentication_type = "bearer"
token_source = "oauth2"
verification = { test_path = "/oauth/api" }
oauth2.grant = "authorization_code"
oauth2.issuer = "SPAR/oauth"
oauth2.authorization_url = "SPAR/oauth/authorize"
oauth2.token_url = "SPAR/oauth/token"
oauth2.revocation_url = "SPAR/oauth/revoke"
oauth2.client_id = "spar-client"
[configuration."error 401 invalid credentials"]
authentication_type = "basic"
username = "sparring"
verification = { test_path = "/basic" }
[configuration."error 403 insufficient permissions"]
authentication_type = "bearer"
verification = { test_path = "/forbidden" }
[configuration."error token expired"]
authentication_type = "bearer"
verification = { test_path = "/bearer/expired" }
[configuration."error header format"]
authentication_type = "bearer"
verification = { test_path = "/basic" }
"""
_LINES = """
[line.contacts]
configuration = "demo bearer"
direction = "pull"
path = "/records/contacts"
records = "items"
target = "demo.contact"
keys = ["external_id"]
gone = "archive"
pagination = { kind = "page", size_parameter = "per_page", position_parameter = "page" }
fields = [
    { api = "id", host = "external_id", required = true },
    { api = "full_name", host = "name" },
    { api = "mail", host = "email" },
    { api = "type", host = "kind" },
    { api = "credit", host = "credit" },
]
[line.orders]
configuration = "demo bearer"
direction = "pull"
path = "/records/orders"
query = { style = "cursor" }
records = "items"
target = "demo.order"
keys = ["year", "number"]
pagination = { kind = "cursor", position_parameter = "after", cursor = "next" }
fields = [
    { api = "year", host = "year" },
    { api = "number", host = "number" },
    { api = "customer.id", host = "contact", required = true, transform = "lookup", \
options = { target = "demo.contact", field = "external_id" } },
    { api = "ordered_at", host = "ordered_at" },
    { api = "weight", host = "weight" },
]
"""
_SECRETS = {
    "demo basic": ("password", "open sesame"),
    "demo bearer": ("token", "spar-token"),
    "demo api key": ("header:X-API-Key", "spar-key"),
    "demo script": ("secret_key", "spar-signing-key"),
    "demo oauth2": ("client_secret", "spar-client-secret"),
    "demo oauth2 consent": ("client_secret", "spar-client-secret"),
    "error 401 invalid credentials": ("password", "wrong"),
    "error 403 insufficient permissions": ("token", "spar-token"),
    "error token expired": ("token", "spar-token"),
    "error header format": ("token", "spar-token"),
}


def silence_notices() -> None:
    """Keep notices out of the log: some samples fail on purpose, and pages show it."""
    logging.getLogger("outkey.notices").setLevel(logging.CRITICAL)


def add_samples(application: Application, url: str) -> None:
    """Create or update the samples, aimed at the sparring provider at this URL."""
    administration = application.administration("demo")
    common = f'"]\nbase_url = "{url}"\nenvironment = "test"\nnetwork = "internal"\n'
    configurations = _DOCUMENT.replace('"]\n', common).replace("SPAR/", f"{url}/")
    document = parse_document(configurations + _LINES)
    application.apply(administration, document, dry_run=False, replaces=True)
    for name, (field, value) in _SECRETS.items():
        administration.set_secret(name, field, Secret(value))
    for draft in document.drafts:
        administration.test(application.sender, draft.name)
    application.audit.flush()
