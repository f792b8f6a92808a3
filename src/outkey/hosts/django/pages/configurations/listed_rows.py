"""Facts for the list of configurations besides their columns, read for all at once.

No secret is opened. What cannot be read was changed outside of outkey: it is reported
where the configuration is opened, and does not end the list.
"""

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from django.db.models import Q

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import AuthenticationType, TokenSourceKind
from outkey.hosts.django import models
from outkey.sending.adapters.vouching.vouched_states import VOUCHER
from outkey.sending.core.configuration.rows import read_query
from outkey.sending.core.oauth2.token import TokenState

FETCHING = (AuthenticationType.BEARER, AuthenticationType.AWS_SIGV4)
FETCHED = [str(TokenSourceKind.OAUTH2), str(TokenSourceKind.LOGIN)]


def rows_with_key(rows: Sequence[models.Configuration]) -> set[UUID]:
    """Return those of type None that send a secret header or query parameter."""
    untyped = [
        row.pk for row in rows if row.authentication_type == AuthenticationType.NONE
    ]
    if not untyped:
        return set()
    headers = models.HeaderRow.objects.filter(configuration__in=untyped, secret=True)
    keyed = set(headers.values_list("configuration_id", flat=True))
    settings = models.Configuration.objects.filter(pk__in=untyped).values_list(
        "pk", "settings__query"
    )
    for record, query in settings:
        with suppress(ConfigError):
            if any(row.secret for row in read_query(query or ())):
                keyed.add(record)
    return keyed


def ends_of_tokens(rows: Sequence[models.Configuration]) -> dict[UUID, float]:
    """Return when the fetched tokens of configurations end, by record."""
    fetching = [row.pk for row in rows if row.authentication_type in FETCHING]
    if not fetching:
        return {}
    is_fetched = Q(configuration__settings__token_source__in=FETCHED)
    is_session = Q(configuration__authentication_type=AuthenticationType.AWS_SIGV4)
    tokens = models.Token.objects.filter(
        is_fetched | is_session, pk__in=fetching, sealed__isnull=False
    )
    ends = {}
    for record, facts in tokens.values_list("pk", "facts"):
        if isinstance(facts, dict):
            facts.pop(VOUCHER, None)
        with suppress(ValueError):
            state = TokenState.from_facts(facts, generation=0, serial=0, content=None)
            ends[record] = state.expires_at
    return ends
