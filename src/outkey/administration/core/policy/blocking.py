"""Weaknesses that the operator's policy does not allow in an environment."""

from collections.abc import Iterable

from outkey.administration.core.findings.posture import (
    configuration_posture,
    facts_from_settings,
)
from outkey.administration.core.policy.policy import Policy
from outkey.foundation.core.errors import BlockedByPolicy
from outkey.foundation.core.findings.checks import Finding
from outkey.foundation.core.text import Text, join_texts
from outkey.sending.core.configuration.configuration import Configuration


def refuse_blocked(policy: Policy, configurations: Iterable[Configuration]) -> None:
    """Refuse configurations with a weakness that blocks in their environment.

    Only their settings count: neither secrets nor history are looked at.
    """
    blocked: list[Finding] = []
    messages: list[Text] = []
    for configuration in configurations:
        findings = _blocked_findings(policy, configuration)
        if findings:
            messages.append(_blocked_message(configuration, findings))
            blocked += findings
    if blocked:
        hints = dict.fromkeys(finding.hint for finding in blocked)
        raise BlockedByPolicy(
            join_texts(messages, ". "), hint=join_texts(hints), field=blocked[0].field
        )


def _blocked_findings(policy: Policy, configuration: Configuration) -> list[Finding]:
    """Return the weaknesses of a configuration that the policy blocks."""
    blocking = policy.blocking.get(configuration.environment, ())
    if not blocking:
        return []
    findings = configuration_posture(facts_from_settings(configuration))
    return [finding for finding in findings if finding.id in blocking]


def _blocked_message(configuration: Configuration, findings: list[Finding]) -> Text:
    """Return the sentence that refuses a configuration."""
    return Text(
        "configuration {name}: {problems}; the policy for {environment} blocks {ids}",
        name=configuration.name,
        problems=join_texts((finding.message for finding in findings), "; "),
        environment=configuration.environment,
        ids=", ".join(finding.id for finding in findings),
    )
