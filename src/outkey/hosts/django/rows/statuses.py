"""The statuses of configurations as conditions on columns, by the core's rules."""

import time
from functools import reduce
from operator import or_

from django.db.models import Case, F, Q, Value, When

from outkey.foundation.core.moments import day_of
from outkey.sending.core.configuration.health import (
    ACCEPTED_AT,
    Comparison,
    Criterion,
    Status,
    status_rules,
)

LOOKUPS = {
    Comparison.IS: "{}",
    Comparison.IS_NOT: "{}",  # negated
    Comparison.BEFORE: "{}__lt",
    Comparison.UNTIL: "{}__lte",
}


def status_conditions(*, sealed: bool = False) -> dict[Status, Q]:
    """Return each status but Working with its condition; the first that holds counts.

    Sealed holds only in an installation that is sealed.
    """
    rules = status_rules(day_of(time.time()))
    return {
        status: reduce(or_, (Q(*map(_query_of, criteria)) for criteria in alternatives))
        for status, alternatives in rules.items()
        if sealed or status is not Status.SEALED
    }


def status_rank(*, sealed: bool = False) -> Case:
    """Return the place of a row's status among `status_conditions`.

    What needs attention first has the lowest; working rows have the number of them.
    """
    cases = [
        When(condition, then=Value(number))
        for number, condition in enumerate(status_conditions(sealed=sealed).values())
    ]
    return Case(*cases, default=Value(len(cases)))


def _query_of(criterion: Criterion) -> Q:
    """Return a criterion as a condition on the columns of a configuration."""
    if criterion.fact == "current":
        is_current = Q(tested_revision=F("revision"))
        return is_current if criterion.value else ~is_current
    if criterion.fact == "accepted":
        is_accepted = Q(seen__has_key=ACCEPTED_AT)
        return is_accepted if criterion.value else ~is_accepted
    lookup = LOOKUPS[criterion.comparison].format(criterion.fact)
    query = Q(**{lookup: criterion.value})
    return ~query if criterion.comparison is Comparison.IS_NOT else query
