"""The fields of the tab AWS."""

from functools import partial

from outkey.foundation.core.fields import choices
from outkey.foundation.core.fields.field_kinds import Field, Kind, Tab
from outkey.sending.core.configuration.field_tables.conditions import BY_AWS

aws = partial(Field, Tab.AWS, when=BY_AWS)
rare_aws = partial(Field, Tab.AWS, when=BY_AWS, rare=True)

FIELDS: tuple[Field, ...] = (
    aws(
        "aws.access_key_id",
        "Access Key ID",
        Kind.TEXT,
        maximum=128,
        help="The ID of the access key, such as AKIA…; not needed with a web identity.",
    ),
    aws(
        "aws.secret_access_key",
        "Secret Access Key",
        Kind.SECRET,
        help="The secret of the access key. It signs requests, and is never sent.",
    ),
    aws(
        "aws.session_token",
        "Session Token",
        Kind.SECRET,
        help=(
            "Of a temporary access key, whose ID begins with ASIA. Such a key ends"
            " within hours: a role has its keys renewed."
        ),
    ),
    aws(
        "aws.region",
        "Region",
        Kind.TEXT,
        required=True,
        maximum=64,
        help="The region of the service, as its host names it: eu-central-1.",
    ),
    aws(
        "aws.service",
        "Service",
        Kind.TEXT,
        required=True,
        maximum=64,
        help="The name that the service signs by: s3, sqs, dynamodb, execute-api, es.",
    ),
    rare_aws(
        "aws.payload",
        "Payload",
        Kind.CHOICE,
        choices.AwsPayload,
        default="signed",
        help="Whether the signature covers the body.",
    ),
    aws(
        "aws.role_arn",
        "Role ARN",
        Kind.TEXT,
        help=(
            "A role to assume first: requests are signed with its temporary keys,"
            " which are renewed before they end."
        ),
    ),
    aws(
        "aws.web_identity_token",
        "Web identity token",
        Kind.SECRET,
        help=(
            "A token that the role trusts in place of an access key, such as"
            " file:/run/jwt of a pod; read anew for each session."
        ),
    ),
    rare_aws(
        "aws.sts_url",
        "STS URL",
        Kind.ENDPOINT,
        help="Where a role is assumed; by default https://sts.REGION.amazonaws.com/.",
    ),
    rare_aws(
        "aws.session_name",
        "Session name",
        Kind.TEXT,
        default="outkey",
        maximum=64,
        help="The name of the role's sessions in the logs of AWS (CloudTrail).",
    ),
    rare_aws(
        "aws.external_id",
        "External ID",
        Kind.TEXT,
        maximum=1224,
        help="The ID that the owner of a role in another account has agreed with you.",
    ),
    rare_aws(
        "aws.duration_seconds",
        "Session duration",
        Kind.INTEGER,
        default=3600,
        minimum=900,
        maximum=43200,
        help="How many seconds a session of the role lasts.",
    ),
)
