"""The section aws in a document: for one authentication type only, and complete."""

import pytest

from outkey.foundation.core.errors import ConfigError
from outkey.sending.core.configuration.configuration import build
from outkey.sending.core.configuration.drafts import read_draft
from outkey.sending.core.configuration.facts import configuration_facts
from outkey.sending.core.configuration.text import configuration_lines

AWS: dict[str, object] = {
    "access_key_id": "AKIAEXAMPLE",
    "secret_access_key": "env:AWS_SECRET",
    "region": "eu-central-1",
    "service": "sqs",
    "role_arn": "arn:aws:iam::1:role/erp",
    "web_identity_token": "file:/run/jwt",
    "sts_url": "",
    "session_name": "outkey",
}
TABLE: dict[str, object] = {
    "base_url": "https://sqs.eu-central-1.amazonaws.com",
    "authentication_type": "aws_sigv4",
    "aws": AWS,
}


def test_a_document_names_the_whole_section() -> None:
    made = read_draft("queue", TABLE).configuration()
    assert made.uses_web_identity
    assert made.aws.region == "eu-central-1"
    assert set(made.secrets) == {"secret_access_key", "web_identity_token"}


def test_a_session_goes_as_far_as_the_key_that_it_was_made_with() -> None:
    made = read_draft("queue", TABLE).configuration()
    assert made.token_binding == made.binding_of("secret_access_key")
    sts, queue = made.token_binding.split()
    assert sts == "https://sts.eu-central-1.amazonaws.com:443"
    assert queue == "https://sqs.eu-central-1.amazonaws.com:443"


@pytest.mark.parametrize(
    ("section", "field"),
    [
        ({"region": "eu-central-1"}, "aws.region"),
        ({"secret_access_key": "env:AWS_SECRET"}, "aws.secret_access_key"),
    ],
)
def test_keys_of_the_section_are_refused_for_another_type(
    section: dict[str, object], field: str
) -> None:
    table = TABLE | {"authentication_type": "basic", "aws": section}
    draft = read_draft("queue", table)
    with pytest.raises(ConfigError, match="AWS Signature Version 4") as caught:
        draft.configuration()
    assert caught.value.field == field
    stored = build("queue", {"base_url": "https://a.example"})
    with pytest.raises(ConfigError):
        draft.merged(stored)


def test_a_key_of_the_section_with_its_default_changes_nothing() -> None:
    unused = {"region": "", "payload": "signed", "duration_seconds": 3600}
    table = TABLE | {"authentication_type": "basic", "aws": unused}
    assert not read_draft("queue", table).configuration().signs_for_aws


def test_what_was_entered_for_another_type_is_not_exported() -> None:
    stored = read_draft("queue", TABLE).configuration()
    assert "[configuration.queue.aws]" in list(configuration_lines(stored))
    other = build("queue", stored.values() | {"authentication_type": "basic"})
    lines = list(configuration_lines(other))
    assert "[configuration.queue.aws]" not in lines
    assert "aws" not in configuration_facts(other)
    assert other.aws == stored.aws
