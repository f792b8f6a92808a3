"""The page of recommendations for safer settings, by configuration."""

import time
from collections import defaultdict

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from outkey.administration.core.policy.policy import Policy
from outkey.administration.engine.watching.overview import (
    Recommendations,
    recommendations,
)
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.permission import Permission
from outkey.hosts.django.models import SecretValue
from outkey.hosts.django.pages.access import (
    installation,
    require,
    visible,
)
from outkey.hosts.django.pages.home import rows_by_name
from outkey.hosts.django.pages.shell import page
from outkey.sending.core.vault import voucher
from outkey.sending.core.vault.versions import SecretLabel

DAY = 86_400


def recommendations_page(request: HttpRequest) -> HttpResponse:
    """Show recommendations by the settings of configurations; opens no secret."""
    require(request, Permission.VIEW)
    policy, problem = read_policy()
    now = time.time()
    found = recommendations(
        installation().registry.summaries(),
        now=now,
        policy=policy,
        secret_ages=_ages_of_old_secrets(now - policy.secret_days * DAY),
    )
    context = {
        "title": _("Recommendations"),
        "problem": problem,
        "counts": found.levels,
        "weaknesses": _shown_weaknesses(found),
    }
    return page(request, "outkey/recommendations.html", context)


def read_policy() -> tuple[Policy, ConfigError | None]:
    """Return the operator's policy; the default one with the error it has."""
    try:
        return installation().policy(), None
    except ConfigError as error:
        return Policy(), error


def _shown_weaknesses(found: Recommendations) -> list[dict[str, object]]:
    """Return the recommendations with the rows of their configurations."""
    rows = rows_by_name(name for weak in found.weaknesses for name in weak.names)
    return [
        {
            "level": weak.level,
            "message": weak.message,
            "rows": [rows[name] for name in weak.names if name in rows],
            "more": weak.more,
        }
        for weak in found.weaknesses
    ]


def _ages_of_old_secrets(limit: float) -> dict[str, dict[str, float]]:
    """Return when secrets were set that are older than a moment, by configuration."""
    values = visible(SecretValue).filter(label=SecretLabel.CURRENT, set_at__lt=limit)
    values = values.exclude(field=voucher.VOUCHER_FIELD)
    ages: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for name, field, moment in values.values_list(
        "configuration__name", "field", "set_at"
    ):
        ages[name][field] = moment or 0
    return ages
