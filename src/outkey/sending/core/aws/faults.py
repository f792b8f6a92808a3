"""What an error of AWS says is wrong: by its code, and where that is vague, its words.

A fault has the name of the reason in `diagnosis/reasons.py`. No remote text leaves.
"""

from outkey.sending.core.aws.error_codes import error_code
from outkey.sending.core.request.message import BODY_READ, Response

SECRET = "aws-secret-wrong"  # noqa: S105 - the name of a reason
KEY = "aws-key-unknown"
SCOPE = "aws-scope-wrong"
CLOCK = "clock-off"
EXPIRED = "token-expired"
DENIED = "forbidden"
MISSING = "credentials-not-read"
MALFORMED = "malformed-header"
# A code for several mistakes is told apart by these words, in this order.
_BY_WORDS = (
    (b"signature expired", CLOCK),
    (b"signature not yet current", CLOCK),
    (b"credential should be scoped to", SCOPE),
    (b"is wrong; expecting", SCOPE),
)
_BY_CODE = {
    "RequestTimeTooSkewed": CLOCK,
    "RequestExpired": CLOCK,
    "RequestInTheFuture": CLOCK,
    "ExpiredToken": EXPIRED,
    "SignatureDoesNotMatch": SECRET,
    "InvalidSignature": SECRET,
    "InvalidClientTokenId": KEY,
    "UnrecognizedClient": KEY,
    "InvalidAccessKeyId": KEY,
    "InvalidToken": KEY,
    "AuthFailure": KEY,
    "AccessDenied": DENIED,
    "UnauthorizedOperation": DENIED,
    "AuthorizationError": DENIED,
    "MissingAuthenticationToken": MISSING,
    "IncompleteSignature": MALFORMED,
    "AuthorizationHeaderMalformed": MALFORMED,
}
# API Gateway and OpenSearch may have words alone.
_WITHOUT_CODE = (
    (b"request signature we calculated does not match", SECRET),
    (b"security token included in the request is expired", EXPIRED),
    (b"security token included in the request is invalid", KEY),
    (b"is not authorized to perform", DENIED),
    (b"missing authentication token", MISSING),
)


def fault_of(response: Response) -> str:
    """Return the reason that an error response of AWS gives, if one is known."""
    words = response.body[:BODY_READ].lower()
    for phrase, fault in _BY_WORDS:
        if phrase in words:
            return fault
    fault = _BY_CODE.get(error_code(response), "")
    if fault:
        return fault
    return next((fault for phrase, fault in _WITHOUT_CODE if phrase in words), "")
