"""Permissions of outkey, and which of them an edit of a configuration needs.

A user without `set_secret` must not lead a stored secret to another origin, scheme,
file, header or TLS trust, however many times they save. So the rules compare what is
stored with what will be stored, whether or not a field is in use now: a value that is
saved while it is not in use takes effect with the next save. A field without a rule
needs `set_secret`.
"""

from collections.abc import Iterable, Iterator, Mapping

from outkey.foundation.core.errors import SecretMissing
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.permission import Permission, Requirement
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomRow
from outkey.sending.core.request.headers import looks_like_credential

ASK_ADMINISTRATOR = Text(
    "Ask an administrator for this permission, or leave the field as it is saved."
)
MAY_NOT_USE_NETWORK = Text(
    "you may not allow the internal network, or another IP address in it"
)
MAY_NOT_EDIT_SCRIPT = Text("you may not write scripts, or switch them on or off")
_ADD = Text("you may not add configurations")
_CHANGE = Text("you may not change configurations")
_SECRET = Text("you may not enter or clear secrets")
_DESTINATION = Text("you may not change where secrets are sent, or how")
_OWNER = Text("you may not change whose users and API tokens use stored secrets")
_OTHER_TLS = Text("saved secrets are not used with unsaved TLS settings")
_OTHER_TLS_HINT = Text(
    "Enter the secret again for this test, or save the TLS settings first."
)
# What a change of each field needs besides the permission to change configurations;
# None for nothing. Secrets and header rows are compared by functions of their own, and
# have no rule here.
RULES: Mapping[str, Permission | None] = {
    "name": None,  # fixed once it is saved
    # A secret is bound to the origin it was entered for and does not open for another
    # one. What has no such binding is guarded in `_leads_tokens_elsewhere`.
    "base_url": None,
    "environment": None,  # what the system is used for; requests stay the same
    "network": None,  # `_widens_network` looks at it
    "active": None,  # requests are sent or not, but never elsewhere
    "owner": Permission.SET_SECRET,  # other users and tokens would use the secrets
    "notes": None,
    "preset": None,  # for information only
    "preset_day": None,
    # Selects the secret that is sent, and the one that a script is given.
    "authentication_type": Permission.SET_SECRET,
    "no_auth_reason": None,  # nothing is sent because of it
    "username": Permission.SET_SECRET,  # the password would be sent for another account
    # The Password would be sent in another place.
    "key_as_username": Permission.SET_SECRET,
    "token_source": Permission.SET_SECRET,  # selects the secret that is sent
    # Servers log other headers than Authorization, and every URL.
    "token_header": Permission.SET_SECRET,
    "token_prefix": Permission.SET_SECRET,
    "token_value": Permission.SET_SECRET,
    "token_encoding": Permission.SET_SECRET,
    "token_expires_on": None,  # for warnings only
    # Selects which of client secret, refresh token and code are sent, and to which URL.
    "oauth2.grant": Permission.SET_SECRET,
    # Client secret, codes and tokens are sent to these URLs, or users are asked to sign
    # in there.
    "oauth2.token_url": Permission.SET_SECRET,
    "oauth2.refresh_url": Permission.SET_SECRET,
    "oauth2.authorization_url": Permission.SET_SECRET,
    "oauth2.pushed_authorization_url": Permission.SET_SECRET,
    "oauth2.device_url": Permission.SET_SECRET,
    "oauth2.revocation_url": Permission.SET_SECRET,
    "oauth2.introspection_url": Permission.SET_SECRET,
    # The secret would be sent for another application.
    "oauth2.client_id": Permission.SET_SECRET,
    # A secret that only signs must not be sent itself, nor move from a header into a
    # body.
    "oauth2.client_auth": Permission.SET_SECRET,
    "oauth2.body_format": Permission.SET_SECRET,
    "oauth2.issuer": Permission.SET_SECRET,  # for whom assertions are signed
    # These decide what the tokens that the client secret is exchanged for may do, and
    # where.
    "oauth2.scope": Permission.SET_SECRET,
    "oauth2.audience": Permission.SET_SECRET,
    "oauth2.resource": Permission.SET_SECRET,
    "oauth2.extra": Permission.SET_SECRET,
    # Whose token is sent to the Token URL, and what it is exchanged for.
    "oauth2.subject_token_from": Permission.SET_SECRET,
    "oauth2.subject_token_type": Permission.SET_SECRET,
    "oauth2.actor_token_type": Permission.SET_SECRET,
    "oauth2.requested_token_type": Permission.SET_SECRET,
    # Without it a stolen code is of use to anyone who has the client secret.
    "oauth2.pkce": Permission.SET_SECRET,
    # Without it a stolen token is of use to anyone.
    "oauth2.dpop": Permission.SET_SECRET,
    # With which key, and for how long, assertions claim what.
    "oauth2.assertion.issuer": Permission.SET_SECRET,
    "oauth2.assertion.subject": Permission.SET_SECRET,
    "oauth2.assertion.audience": Permission.SET_SECRET,
    "oauth2.assertion.key_id": Permission.SET_SECRET,
    "oauth2.assertion.algorithm": Permission.SET_SECRET,
    "oauth2.assertion.lifetime_seconds": Permission.SET_SECRET,
    "oauth2.assertion.scope_in": Permission.SET_SECRET,
    "oauth2.assertion.claims": Permission.SET_SECRET,
    "oauth2.leeway_seconds": None,  # only when a token is renewed
    "oauth2.default_lifetime_seconds": None,
    # The consumer secret and the tokens would sign for another application, or in a
    # form that shows them; or users would authorize the access elsewhere.
    "oauth1.consumer_key": Permission.SET_SECRET,
    "oauth1.signature_method": Permission.SET_SECRET,
    "oauth1.realm": Permission.SET_SECRET,
    "oauth1.request_url": Permission.SET_SECRET,
    "oauth1.authorization_url": Permission.SET_SECRET,
    "oauth1.access_url": Permission.SET_SECRET,
    # Where at the API user and password are sent, and in which form.
    "login.steps": Permission.SET_SECRET,
    "login.method": Permission.SET_SECRET,
    "login.path": Permission.SET_SECRET,
    "login.format": Permission.SET_SECRET,
    "login.body": Permission.SET_SECRET,
    "login.refresh_path": Permission.SET_SECRET,
    "login.refresh_body": Permission.SET_SECRET,
    "login.logout_path": Permission.SET_SECRET,
    # What of a response is sent as a token; it may be any other part of it.
    "login.token": Permission.SET_SECRET,
    "login.cookies": Permission.SET_SECRET,
    "login.refresh_token": Permission.SET_SECRET,
    # An expression over the response: what it finds is shown as the expiry, and could
    # tell a token letter by letter.
    "login.expires_in": Permission.SET_SECRET,
    "login.expires_unit": None,  # only when a token is renewed
    "login.lifetime_seconds": None,
    # With whose key, for which service and as which role requests are signed, and
    # where the role is assumed.
    "aws.access_key_id": Permission.SET_SECRET,
    "aws.region": Permission.SET_SECRET,
    "aws.service": Permission.SET_SECRET,
    "aws.payload": Permission.SET_SECRET,
    "aws.role_arn": Permission.SET_SECRET,
    "aws.sts_url": Permission.SET_SECRET,
    "aws.session_name": Permission.SET_SECRET,
    "aws.external_id": Permission.SET_SECRET,
    "aws.duration_seconds": None,  # only when a session is renewed
    # Which part of which response is sent back, and in which header.
    "csrf.path": Permission.SET_SECRET,
    "csrf.header": Permission.SET_SECRET,
    "csrf.methods": Permission.SET_SECRET,
    "csrf.lifetime_seconds": None,
    # Only what was staged with `set_secret`, and tested, is ever sent.
    "rotation.share": None,
    "rotation.successes": None,
    "rotation.automatic": None,
    "rotation.overlap_days": None,
    "rotation.rotate_after_days": None,
    "script_enabled": Permission.EDIT_SCRIPT,
    "script": Permission.EDIT_SCRIPT,
    # Whom we trust to be the origin, and the file that identifies us.
    "tls.minimum_version": Permission.SET_SECRET,
    "tls.ca_file": Permission.SET_SECRET,
    "tls.client_certificate": Permission.SET_SECRET,
    # Which proxy forwards the requests, and our account there.
    "proxy.url": Permission.SET_SECRET,
    "proxy.username": Permission.SET_SECRET,
    # Whose credentials a request is sent with.
    "connections": Permission.SET_SECRET,
    "connect.shared": Permission.SET_SECRET,
    "connect.own": Permission.SET_SECRET,
    # Where requests go with these credentials.
    "allowed_origins": Permission.SET_SECRET,
    "connect.variables": Permission.SET_SECRET,
    "connect.account": Permission.SET_SECRET,
    "connect.request_url": Permission.SET_SECRET,
    # How long, how often and how much, at the same origin.
    "limits.connect_timeout": None,
    "limits.read_timeout": None,
    "limits.total_timeout": None,
    "limits.requests_per_minute": None,
    "limits.rate_headers": None,
    "limits.response_mebibytes": None,
    "limits.retries": None,
    "limits.runs_at_once": None,
    # A request at the same origin, as in every sync line; TRACE is not allowed.
    "verification.test_path": None,
    "verification.test_method": None,
    "verification.test_body": None,
    "verification.test_content_type": None,
    "verification.accepted_statuses": None,  # statuses hold nothing of a secret
    "verification.forbidden_means_expired": None,
    "verification.expired_statuses": None,
    # It is compared with responses, which may echo a secret: a user who can choose it
    # again and again learns the secret character by character.
    "verification.expired_marker": Permission.SET_SECRET,
    "verification.compare": None,  # one more request, without credentials
    # An origin shifts only what is signed for itself.
    "verification.follow_clock": None,
}


def requirements(
    stored: Configuration | None, edited: Configuration, secrets: Iterable[str] = ()
) -> list[Requirement]:
    """Return the permissions needed to replace `stored` (None: a new one) by `edited`.

    `secrets` names the secrets that are entered, referenced or cleared along with it.
    """
    needs = [Requirement(Permission.CHANGE, "name", _CHANGE)]
    if stored is None:
        needs = [Requirement(Permission.ADD, "name", _ADD)]
    if _widens_network(stored, edited):
        needs.append(
            Requirement(Permission.USE_INTERNAL_NETWORK, "network", MAY_NOT_USE_NETWORK)
        )
    for field in sorted(_touched_secrets(stored, edited, secrets)):
        needs.append(Requirement(Permission.SET_SECRET, field, _SECRET))
    if stored is not None:
        needs += _guarded_changes(stored, edited)
    if changes_script(stored, edited):
        needs.append(Requirement(Permission.EDIT_SCRIPT, "script", MAY_NOT_EDIT_SCRIPT))
    return needs


def changes_script(stored: Configuration | None, edited: Configuration) -> bool:
    """Whether the script changes, or whether it runs."""
    before = (stored.script_enabled, stored.script) if stored else (True, "")
    return before != (edited.script_enabled, edited.script)


def refuse_other_tls(stored: Configuration, draft: Configuration, secret: str) -> None:
    """Raise SecretMissing if a draft has other TLS settings than the stored secret."""
    if draft.tls != stored.tls:
        raise SecretMissing(_OTHER_TLS, hint=_OTHER_TLS_HINT, field=secret)


def _widens_network(stored: Configuration | None, edited: Configuration) -> bool:
    """Whether requests could reach another address of the internal network."""
    if edited.network is not Network.INTERNAL:
        return False
    if stored is None or stored.network is not Network.INTERNAL:
        return True
    return stored.origins() != edited.origins()


def _touched_secrets(
    stored: Configuration | None, edited: Configuration, secrets: Iterable[str]
) -> set[str]:
    """Return the secrets that are entered or removed.

    A plain row counts if its name looks like one of a credential.
    """
    before = stored.secrets if stored else {}
    names = {*before, *edited.secrets}
    touched = {
        *secrets,
        *(name for name in names if before.get(name) != edited.secrets.get(name)),
    }
    rows = stored.rows if stored else ()
    changed = set(rows) ^ set(edited.rows)
    # A row without a value yet does no harm in a new configuration; in a stored one its
    # name decides where a secret goes.
    if stored is not None:
        touched |= {row.secret_field for row in changed if row.secret}
    return touched | {
        row.secret_field for row in edited.rows if _is_new_credential(row, rows)
    }


def _is_new_credential(row: CustomRow, before: Iterable[CustomRow]) -> bool:
    """Whether a plain row that was not there before looks like a credential."""
    return not row.secret and looks_like_credential(row.key) and row not in before


def _guarded_changes(
    stored: Configuration, edited: Configuration
) -> Iterator[Requirement]:
    """Yield the permissions that changed fields need by the table of rules."""
    before = stored.values()
    after = edited.values()
    for path in {**before, **after}:
        rule = RULES.get(path, Permission.SET_SECRET)
        if rule is Permission.SET_SECRET and before.get(path) != after.get(path):
            message = _OWNER if path == "owner" else _DESTINATION
            yield Requirement(Permission.SET_SECRET, path, message)
    if _leads_tokens_elsewhere(stored, edited):
        yield Requirement(Permission.SET_SECRET, "base_url", _DESTINATION)


def _leads_tokens_elsewhere(stored: Configuration, edited: Configuration) -> bool:
    """Whether obtained tokens would go to another origin.

    An application without a client secret has nothing that is bound to the Base URL:
    the next user who agrees would have their token sent to the new one.
    """
    return bool(stored.oauth2.token_url) and stored.base.origin != edited.base.origin
