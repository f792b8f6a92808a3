"""Every check there is: for references, for translations and for tests."""

from types import ModuleType

from outkey.administration.core.findings.notice_checks import NOTICE_CHECKS
from outkey.administration.core.findings.posture import POSTURE_CHECKS
from outkey.administration.core.operating.checklist import CHECKLIST
from outkey.foundation.core.findings.checks import Check
from outkey.sending.core.configuration import checks as configuration_checks
from outkey.sync.core.drift import drift
from outkey.sync.core.line import checks as line_checks
from outkey.sync.core.line import (
    children_checks,
    incremental_checks,
    job_checks,
    parent_checks,
    push_checks,
    response_checks,
)
from outkey.webhooks.core.settings import checks as webhook_checks


def _checks_of(module: ModuleType) -> list[Check]:
    """Return the checks that a module names."""
    return [value for value in vars(module).values() if isinstance(value, Check)]


# What is reported as a finding; the id of a finding is one of these.
# Each once: some modules import checks of another.
FINDING_CHECKS: tuple[Check, ...] = tuple(
    dict.fromkeys(
        (
            *_checks_of(configuration_checks),
            *_checks_of(line_checks),
            *_checks_of(children_checks),
            *_checks_of(incremental_checks),
            *_checks_of(parent_checks),
            *_checks_of(push_checks),
            *_checks_of(job_checks),
            *_checks_of(drift),
            *_checks_of(response_checks),
            *_checks_of(webhook_checks),
            *POSTURE_CHECKS,
        )
    )
)
ALL_CHECKS: tuple[Check, ...] = (*FINDING_CHECKS, *NOTICE_CHECKS, *CHECKLIST)
