"""What the fields of the tab AWS must be, so that a request can be signed at all."""

import re
from collections.abc import Mapping

from outkey.foundation.core.fields.choices import AuthenticationType, AwsPayload
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.fields import BY_PATH

# Each is a part of a header or of the scope of a signature.
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_KEY_ID = re.compile(r"[A-Za-z0-9_.-]+")
# AWS names the characters in its reference of AssumeRole.
_SESSION_NAME = re.compile(r"[A-Za-z0-9_+=,.@-]{2,}")
_EXTERNAL_ID = re.compile(r"[A-Za-z0-9_+=,.@:/-]{2,}")
_ARN = re.compile(r"arn:[!-~]+")
_FORMS = {
    "aws.access_key_id": (_KEY_ID, Text("must be letters and digits, such as AKIA…")),
    "aws.region": (_WORD, Text("must be a name such as eu-central-1")),
    "aws.service": (_WORD, Text("must be a name such as sqs")),
    "aws.role_arn": (_ARN, Text("must begin with arn: and have no spaces")),
    "aws.session_name": (
        _SESSION_NAME,
        Text("must be two or more letters, digits and characters of +=,.@-_"),
    ),
    "aws.external_id": (
        _EXTERNAL_ID,
        Text("must be two or more letters, digits and characters of +=,.@:/-_"),
    ),
}


def refuse_odd_aws(values: Mapping[str, object]) -> None:
    """Refuse values of the tab AWS that could not sign a request."""
    if values["authentication_type"] is not AuthenticationType.AWS_SIGV4:
        return
    for path, (form, problem) in _FORMS.items():
        text = str(values[path])
        if text and not form.fullmatch(text):
            raise BY_PATH[path].refuse(problem)
    if not values["aws.access_key_id"] and not values["aws.role_arn"]:
        raise BY_PATH["aws.access_key_id"].refuse(
            Text("must not be empty"),
            hint=Text("Only a role with a web identity token needs no access key."),
        )
    if not values["aws.session_name"]:
        raise BY_PATH["aws.session_name"].refuse(Text("must not be empty"))
    is_unsigned = values["aws.payload"] is AwsPayload.UNSIGNED
    if is_unsigned and not str(values["base_url"]).lower().startswith("https:"):
        raise BY_PATH["aws.payload"].refuse(
            Text("must be signed where the Base URL is plain http"),
            hint=Text(
                "Sign the payload, or use https: nothing else protects the body."
            ),
        )
