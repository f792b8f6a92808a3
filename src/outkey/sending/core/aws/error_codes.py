"""The error code of a response of AWS: each protocol has it in another place."""

import re

from outkey.sending.core.request.message import BODY_READ, Response

# `<Code>AccessDenied</Code>` in XML (S3, and the Query protocol of SQS, SNS, STS, IAM).
_XML = re.compile(rb"<Code>\s*([A-Za-z0-9.]{1,80})\s*</Code>")
# `"__type": "com.amazon.coral.service#AccessDeniedException"` (DynamoDB, Kinesis);
# `"code": "…"` in other REST APIs.
_JSON = re.compile(
    rb'"(?:__type|code|Code)"\s*:\s*"(?:[^"#]{0,200}#)?([A-Za-z0-9.]{1,80})[":]'
)
_CODE = re.compile(r"[A-Za-z0-9.]{1,80}")
# S3 and DynamoDB respond with 400.
_REFUSALS = frozenset({400, 401, 403})


def error_code(response: Response) -> str:
    """Return the error code of a response, without the suffix Exception; else nothing.

    It is remote text: to be compared with known codes, and not to be shown.
    """
    # REST APIs and API Gateway: `AccessDeniedException:http://…`.
    header = response.headers.get("X-Amzn-ErrorType")
    code = header.rpartition("#")[2].partition(":")[0].strip()
    if not _CODE.fullmatch(code):
        body = response.body[:BODY_READ]
        match = _XML.search(body) or _JSON.search(body)
        code = match[1].decode("ascii") if match else ""
    return code.removesuffix("Exception")


def says_session_expired(response: Response) -> bool:
    """Whether a response refuses the temporary keys because they have ended."""
    return response.status in _REFUSALS and error_code(response) == "ExpiredToken"
