"""The closed choice between the schemes."""

from collections.abc import Callable
from typing import assert_never

from outkey.foundation.core.fields.choices import AuthenticationType
from outkey.foundation.core.secret import Secret
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.oauth1.signature import entered_credentials
from outkey.sending.core.request.flow import Scheme
from outkey.sending.core.request.message import Response
from outkey.sending.core.request.schemes.aws import AwsSignature, aws_signature
from outkey.sending.core.request.schemes.basic import Basic
from outkey.sending.core.request.schemes.bearer import Bearer
from outkey.sending.core.request.schemes.csrf import CsrfProtected
from outkey.sending.core.request.schemes.digest import Digest
from outkey.sending.core.request.schemes.fetched import FetchedToken
from outkey.sending.core.request.schemes.none import NoAuthentication
from outkey.sending.core.request.schemes.oauth1 import OAuth1
from outkey.sending.core.request.schemes.script import Scripted


def scheme_of(
    configuration: Configuration,
    secret: Callable[[str], Secret],
    repeats_secret: Callable[[Response], bool] | None = None,
) -> Scheme:
    """Return the scheme of a configuration: all that authenticates its requests.

    `repeats_secret` tells whether a response contains a secret that was sent.
    """
    scheme = scheme_without_csrf(configuration, secret, repeats_secret)
    return CsrfProtected(configuration, scheme) if configuration.csrf.path else scheme


def scheme_without_csrf(
    configuration: Configuration,
    secret: Callable[[str], Secret],
    repeats_secret: Callable[[Response], bool] | None = None,
) -> Scheme:
    """Return the scheme of a configuration, with its secrets and its script."""
    scheme = _base_scheme(configuration, secret)
    if isinstance(scheme, FetchedToken) and repeats_secret is not None:
        scheme = scheme._replace(repeats_secret=repeats_secret)
    if not configuration.is_scripted:
        return scheme
    if isinstance(scheme, AwsSignature):
        return scheme._replace(inner=Scripted(scheme.inner))
    return Scripted(scheme)


def _base_scheme(
    configuration: Configuration, secret: Callable[[str], Secret]
) -> Scheme:
    """Return the scheme of the Authentication Type."""
    match configuration.authentication_type:  # the most frequent first
        case AuthenticationType.BEARER:
            return (
                FetchedToken(configuration)
                if configuration.fetches_token
                else Bearer(configuration, secret("token"))
            )
        case AuthenticationType.BASIC:
            return Basic(
                configuration.username,
                secret("password"),
                key_as_username=configuration.key_as_username,
            )
        case AuthenticationType.NONE:
            return NoAuthentication()
        case AuthenticationType.DIGEST:
            return Digest(configuration.username, secret("password"))
        case AuthenticationType.AWS_SIGV4:
            return aws_signature(configuration, secret)
        case AuthenticationType.OAUTH1:
            return OAuth1(
                entered_credentials(configuration, secret),
                needs_token=configuration.has_three_legs,
            )
        case other:
            assert_never(other)
