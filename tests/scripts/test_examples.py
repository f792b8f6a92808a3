"""The example scripts, each against a foreign implementation, or by hand.

They run as in an installation: in a locked process, with the clock stopped.
"""

import base64
import hashlib
import logging
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from unittest import mock
from urllib.parse import quote, unquote, urlencode

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.errors import BadSignatureError
from joserfc.jwk import OctKey, RSAKey
from oauthlib.oauth1 import Client

from outkey.foundation.core.errors import ScriptFailed
from outkey.foundation.core.origin import parse_url
from outkey.foundation.core.script_syntax import (
    MAX_SOURCE,
    OFFERED,
    check_imports,
    check_script,
    examples,
)
from outkey.foundation.core.secret import Secret
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from outkey.sending.core.request.script import ScriptCall, ScriptResult

FOLDER = Path(__file__).parents[2] / "examples" / "scripts"
FILES = sorted(FOLDER.glob("*.py"))
GUIDE = (FOLDER.parents[1] / "docs" / "guide" / "scripts.md").read_text("utf-8")
OTHER_APIS = (FOLDER.parents[1] / "docs" / "guide" / "other-apis.md").read_text("utf-8")
AT = 1_700_000_000
SCRIPTS = LockedScripts()
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="scripts run on Linux only"
)
SECRETS = [
    "plain",
    "mit Umlaut: äöüß €",
    "密钥🔑",
    "x" * 300,
    " blanks around ",
    "quotes \"' \\ %41",
]
BODIES = [
    b"",
    b"\x00\xff\xfe binary \r\n",
    '{"name": "Jürgen"}'.encode(),
    b"x" * 200_000,
]
TARGETS = [
    "/",
    "/v1/orders?b=2&a=1&b=1&a=",
    "/a%20b/c%2Fd/%E4%BD%A0?q=a%20b+c&q=%C3%A4&empty&=nameless",
    "/colon:at@plus+/(star*)!?x=1:2/3?4,5&y='a'!(b)*$;",
    "/v1/?percent=%25&less=%3C&amp=%26&equals==&tilde=~&hash=%23",
]
# Text that urlencode and both peers can carry:
# all of Unicode but halves of surrogate pairs.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
PAIRS = st.lists(st.tuples(TEXTS.filter(bool), TEXTS), max_size=5)


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> Iterator[None]:
    # Both write what they sign into the log.
    talkative = [logging.getLogger(name) for name in ("botocore", "oauthlib")]
    levels = [logger.level for logger in talkative]
    for logger in talkative:
        logger.setLevel(logging.WARNING)
    yield
    SCRIPTS.close()
    for logger, level in zip(talkative, levels, strict=True):
        logger.setLevel(level)


@dataclass(frozen=True)
class Case:
    """One request, and the script that is asked about it."""

    script: str
    secret: str = "plain"
    method: str = "GET"
    url: str = "https://api.example/"
    body: bytes = b""
    username: str = ""
    name: str = ""
    at: float | None = AT


def read(name: str, **constants: object) -> str:
    """Return the source of an example, with some of its constants changed."""
    source = (FOLDER / f"{name}.py").read_text("utf-8")
    for constant, value in constants.items():
        line = re.compile(rf"^{constant} = [^#\n]*", re.MULTILINE)
        source, count = line.subn(f"{constant} = {value!r}  ", source)
        assert count == 1, constant
    return source


def run(case: Case) -> dict[str, str]:
    return revealed(result(case).headers)


def revealed(values: Iterable[tuple[str, Secret]]) -> dict[str, str]:
    return {name: value.reveal() for name, value in values}


def result(case: Case) -> ScriptResult:
    location = parse_url(case.url)
    path, _, query = location.target.partition("?")
    call = ScriptCall(
        place="example",
        source=case.script,
        secret=Secret(case.secret),
        name=case.name,
        configuration="acme",
        base_url="https://api.example",
        username=case.username,
        method=case.method,
        url=wire(case.url),
        path=path,
        query=query,
        body=case.body,
        at=case.at,
    )
    return SCRIPTS.run(call)


def wire(url: str) -> str:
    """Return an address as it travels, and as a script sees it."""
    location = parse_url(url)
    return f"{location.origin}{location.target}"


def requests_of(script: str, host: str = "https://api.example") -> list[Case]:
    """Vary one thing after the other: secrets, bodies, paths with queries."""
    first = Case(script, url=f"{host}{TARGETS[1]}", method="POST", body=b"a=1")
    return [
        first,
        *(replace(first, secret=secret) for secret in SECRETS),
        *(replace(first, body=body) for body in BODIES),
        *(
            replace(first, url=f"{host}{target}", method="GET", body=b"")
            for target in TARGETS
        ),
        replace(first, url="http://[::1]:8080/v1", method="DELETE"),
        replace(first, url="https://api.example:443/v1?a=1"),
        replace(first, url="http://api.example:8080/v1?a=1"),
    ]


# ── all of them ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_script_is_accepted_and_shows_what_it_gives(file: Path) -> None:
    source = file.read_text("utf-8")
    check_script(source)
    check_imports(source)
    assert len(source.encode()) < MAX_SOURCE / 8
    assert "'''" not in source, "a TOML document quotes scripts with these"
    shown = list(examples(source))
    assert shown
    for example in shown:
        case = Case(
            source,
            example.secret,
            example.method,
            example.url,
            example.body,
            at=example.at,
            name=example.name,
        )
        assert run(case) == example.expect


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_script_runs_while_the_clock_goes(file: Path) -> None:
    source = file.read_text("utf-8")
    secret = next(examples(source)).secret
    made = [run(Case(source, secret, at=None)) for _ in range(3)]
    assert all(headers.keys() == made[0].keys() for headers in made)


def test_every_example_is_in_the_guide() -> None:
    named = re.findall(
        r"\[`([a-z0-9_]+\.py)`\]\(\.\./\.\./examples/scripts/\1\)", GUIDE
    )
    assert named
    assert sorted(named) == [file.name for file in FILES]


def test_the_guide_lists_what_can_be_imported() -> None:
    (line,) = re.findall(r"^It can import (.*)$", GUIDE, re.MULTILINE)
    assert re.findall(r"`([\w.]+)`", line) == list(OFFERED)


@pytest.mark.parametrize(
    ("api", "script"),
    [
        ("Emarsys", "wsse.py"),
        ("GitHub", "jwt_rs256.py"),
        ("Snowflake", "jwt_rs256.py"),
    ],
)
def test_an_api_that_needs_a_signature_points_to_its_script(
    api: str, script: str
) -> None:
    (line,) = re.findall(rf"^\| \[?{api}.*$", OTHER_APIS, re.MULTILINE)
    assert f"[`{script}`](../../examples/scripts/{script})" in line


def test_every_script_that_the_page_names_is_there_and_linked() -> None:
    named = re.findall(r"`([a-z0-9_]+\.py)`", OTHER_APIS)
    linked = re.findall(
        r"\[`([a-z0-9_]+\.py)`\]\(\.\./\.\./examples/scripts/\1\)", OTHER_APIS
    )
    assert named == linked
    assert set(named) <= {file.name for file in FILES}


def test_the_scripts_of_the_guide_run() -> None:
    smallest, in_query, golden = re.findall(r"```py\n(.*?)```", GUIDE, re.DOTALL)
    check_script(in_query)
    (signed,) = examples(in_query)
    signed_case = Case(in_query, signed.secret, url=signed.url, at=signed.at)
    assert revealed(result(signed_case).query) == signed.expect_query
    check_script(smallest + golden)
    (example,) = examples(smallest + golden)
    assert run(Case(smallest, example.secret, at=example.at)) == example.expect
    (document,) = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    script = tomllib.loads(document)["configuration"]["acme"]["script"]
    made = run(Case(script, "plain", "POST", "https://api.example/v1?a=1", b"{}"))
    assert made == {"X-Signature": by_hand(b"plain", b"/v1\n{}").hex()}


# ── the specification's example ───────────────────────────────────────────────────────

ON_TOP = """
import hmac, hashlib, time

def compute_auth_header(sync_line):
    secret = sync_line.api_config_id.get_secret_key()
    timestamp = str(int(time.time()))
    signature = hmac.new(
        secret.encode(), timestamp.encode(), hashlib.sha256
    ).hexdigest()
    return {'X-Timestamp': timestamp, 'X-Signature': signature}
"""
INSIDE = """
def compute_auth_header(sync_line):
    import hashlib
    import hmac
    import time
    secret_key = sync_line.api_config_id.get_secret_key()
    timestamp = str(int(time.time()))
    message = f"{timestamp}"
    signature = hmac.new(
        secret_key.encode("utf-8"), message.encode("utf-8"), hashlib.sha256
    ).hexdigest()
    return {"X-Timestamp": timestamp, "X-Signature": signature}
"""


@pytest.mark.parametrize(
    "source", [ON_TOP, INSIDE, read("hmac_time")], ids=["top", "in", "file"]
)
@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("at", [0, 1_700_000_000.999, 4_102_444_800])
def test_the_specification_s_example(source: str, secret: str, at: float) -> None:
    made = run(Case(source, secret, at=at))
    timestamp = str(int(at))
    assert made == {
        "X-Timestamp": timestamp,
        "X-Signature": by_openssl(secret.encode(), timestamp),
    }
    assert re.fullmatch("[0-9a-f]{64}", made["X-Signature"])


def by_openssl(key: bytes, text: str) -> str:
    """Return an HMAC that is not Python's."""
    done = subprocess.run(
        [
            "openssl",
            "dgst",
            "-sha256",
            "-mac",
            "HMAC",
            "-macopt",
            f"hexkey:{key.hex()}",
        ],
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().split()[-1]


# ── HMAC of the request ───────────────────────────────────────────────────────────────


def by_hand(
    key: bytes, message: bytes, algorithm: str = "sha256", block: int = 64
) -> bytes:
    """Return an HMAC as RFC 2104 writes it down."""
    key = hashlib.new(algorithm, key).digest() if len(key) > block else key
    inner, outer = (
        bytes(byte ^ pad for byte in key.ljust(block, b"\0")) for pad in (0x36, 0x5C)
    )
    return hashlib.new(
        algorithm, outer + hashlib.new(algorithm, inner + message).digest()
    ).digest()


# RFC 4231 §4.2, §4.3, §4.7: key, text, HMAC-SHA-256.
RFC_4231 = [
    (
        b"\x0b" * 20,
        b"Hi There",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    ),
    (
        b"Jefe",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ),
    (
        b"\xaa" * 131,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ),
]


@pytest.mark.parametrize(("key", "text", "expected"), RFC_4231)
def test_our_own_hmac_is_the_rfc_s(key: bytes, text: bytes, expected: str) -> None:
    assert by_hand(key, text).hex() == expected


@pytest.mark.parametrize("case", requests_of(read("hmac_request")))
def test_a_request_is_signed_as_it_travels(case: Case) -> None:
    target = "/" + wire(case.url).split("/", 3)[3]
    text = f"{AT}\n{case.method}\n{target}\n".encode() + case.body
    expected = by_hand(case.secret.encode(), text).hex()
    assert run(case) == {"X-Timestamp": str(AT), "X-Signature": expected}


# ── AWS ───────────────────────────────────────────────────────────────────────────────

SUITE_SECRET = "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
SUITE_AT = 1_440_938_160
AWS_HOST = "https://example.amazonaws.com"


def by_botocore(
    case: Case,
    service: str,
    url: str,
    pairs: list[tuple[str, str]] | None = None,
    headers: dict[str, str] | None = None,
) -> dict[str, str]:
    """Sign with AWS's own library, which encodes the parameters itself."""
    access_key, _, secret = case.secret.partition(":")
    request = AWSRequest(
        case.method, url, headers=headers, data=case.body, params=pairs
    )
    signer = S3SigV4Auth if service == "s3" else SigV4Auth
    now = datetime.fromtimestamp(case.at or 0, UTC)
    with mock.patch("botocore.auth.get_current_datetime", return_value=now):
        signer(Credentials(access_key, secret), service, "eu-central-1").add_auth(
            request
        )
    return {name.lower(): value for name, value in request.headers.items()}


def by_script(case: Case) -> dict[str, str]:
    return {name.lower(): value for name, value in run(case).items()}


# The published suite signs for a service called "service":
# path and query, and the signature.
SUITE = [
    ("GET", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    (
        "GET",
        "/?Param2=value2&Param1=value1",
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    ("POST", "/", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
]


@pytest.mark.parametrize(("method", "target", "signature"), SUITE)
def test_aws_s_own_examples(method: str, target: str, signature: str) -> None:
    source = read("aws_sigv4", SERVICE="service")
    case = Case(source, SUITE_SECRET, method, AWS_HOST + target, at=SUITE_AT)
    assert (
        run(case)["Authorization"] == "AWS4-HMAC-SHA256"
        " Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request,"
        f" SignedHeaders=host;x-amz-date, Signature={signature}"
    )


@pytest.mark.parametrize("service", ["execute-api", "s3"])
@pytest.mark.parametrize(
    "path", ["/", "/prod/a%20b/", "/%E4%BD%A0~_-.x", "/a%3Ab%2Bc%40d"]
)
@pytest.mark.parametrize("body", BODIES, ids=len)
def test_paths_and_bodies_are_signed_as_botocore_does(
    service: str, path: str, body: bytes
) -> None:
    source = read("aws_sigv4", SERVICE=service, REGION="eu-central-1")
    case = Case(source, SUITE_SECRET, "PUT", AWS_HOST + path, body)
    assert by_script(case) == by_botocore(case, service, AWS_HOST + path)


@pytest.mark.parametrize(
    "path",
    ["/a%2Fb", "//a//b", "/a/./b/../c/", "/a/..", "/../a", "/a:b@c+d,e;f='(g)!*"],
)
def test_a_path_is_tidied_as_botocore_does(path: str) -> None:
    source = read("aws_sigv4", REGION="eu-central-1")
    case = Case(source, SUITE_SECRET, "GET", AWS_HOST + path)
    assert by_script(case) == by_botocore(case, "execute-api", AWS_HOST + path)


@settings(max_examples=60)
@given(
    pairs=PAIRS,
    spelling=st.sampled_from(["plus", "percent", "sparing"]),
    s3=st.booleans(),
)
def test_any_query_is_signed_as_botocore_does(
    pairs: list[tuple[str, str]], spelling: str, *, s3: bool
) -> None:
    service = "s3" if s3 else "execute-api"
    safe = {"plus": "", "percent": "", "sparing": "/:@!$'()*,;?~"}[spelling]
    via = {"plus": urlencode(pairs)}.get(spelling) or urlencode(
        pairs, safe=safe, quote_via=quote
    )
    source = read("aws_sigv4", SERVICE=service, REGION="eu-central-1")
    case = Case(source, SUITE_SECRET, "GET", f"{AWS_HOST}/items?{via}")
    assert by_script(case) == by_botocore(case, service, f"{AWS_HOST}/items", pairs)


def test_a_query_of_bytes_that_are_no_text_stays_as_it_is() -> None:
    source = read("aws_sigv4", REGION="eu-central-1")
    url = f"{AWS_HOST}/?a=%FF%FE&a=%E4&b="
    case = Case(source, SUITE_SECRET, "GET", url)
    by_url = by_botocore(case, "execute-api", f"{AWS_HOST}/?a=%E4&a=%FF%FE&b=")
    assert by_script(case) == by_url


@pytest.mark.parametrize(
    "host", ["http://localhost:8000", "https://a.example:8443", "http://[::1]:9"]
)
def test_the_port_is_part_of_the_signed_host(host: str) -> None:
    source = read("aws_sigv4", SERVICE="dynamodb", REGION="eu-central-1")
    case = Case(source, SUITE_SECRET, "POST", f"{host}/", b"{}")
    assert by_script(case) == by_botocore(case, "dynamodb", f"{host}/")


def test_more_headers_are_sent_and_signed() -> None:
    more = {"X-Amz-Target": "DynamoDB_20120810.ListTables"}
    source = read(
        "aws_sigv4", SERVICE="dynamodb", REGION="eu-central-1", MORE_HEADERS=more
    )
    case = Case(source, SUITE_SECRET, "POST", f"{AWS_HOST}/", b"{}")
    assert by_script(case) == by_botocore(
        case, "dynamodb", f"{AWS_HOST}/", headers=more
    )


def test_the_access_key_may_be_the_username() -> None:
    source = read("aws_sigv4")
    access_key, _, secret = SUITE_SECRET.partition(":")
    assert run(Case(source, secret, username=access_key)) == run(
        Case(source, SUITE_SECRET)
    )


# ── OAuth 1.0a ────────────────────────────────────────────────────────────────────────

TOKENS = "dpf43f3p2l4k3l03:kd94hf93k423kf44:nnch734d00sl2jdk:pfkkdhi9sl3r4s00"
OAUTH_SECRETS = [TOKENS, "key:secret", "k&y=:sécret/+ %:töken~:&&==", ":::", "a:b::"]


def oauth_of(headers: dict[str, str]) -> dict[str, str]:
    assert headers.keys() == {"Authorization"}
    assert headers["Authorization"].startswith("OAuth ")
    parts = re.findall(
        r'(\w+)="([^"]*)"(?:, |$)', headers["Authorization"].removeprefix("OAuth ")
    )
    assert len(parts) == headers["Authorization"].count('="')
    return {name: unquote(value) for name, value in parts}


def by_oauthlib(
    case: Case, made: dict[str, str], realm: str = "", *, form: bool = False
) -> dict[str, str]:
    """Sign with another library, which is given the script's nonce."""
    key, secret, token, token_secret = [*case.secret.split(":"), "", ""][:4]
    client = Client(
        key,
        secret,
        token,
        token_secret,
        signature_method=made["oauth_signature_method"],
        nonce=made["oauth_nonce"],
        timestamp=str(AT),
        realm=realm or None,
    )
    _, headers, _ = client.sign(
        wire(case.url),
        case.method,
        body=case.body.decode() if form else None,
        headers={"Content-Type": "application/x-www-form-urlencoded"} if form else None,
    )
    return oauth_of({"Authorization": headers["Authorization"]})


@pytest.mark.parametrize("method", ["HMAC-SHA1", "HMAC-SHA256"])
@pytest.mark.parametrize("case", requests_of(""))
def test_requests_are_signed_as_oauthlib_does(case: Case, method: str) -> None:
    case = replace(case, script=read("oauth1", METHOD=method), secret=TOKENS)
    made = oauth_of(run(case))
    assert made == by_oauthlib(case, made)


@pytest.mark.parametrize("secret", OAUTH_SECRETS)
def test_keys_and_tokens_are_used_as_oauthlib_does(secret: str) -> None:
    case = Case(read("oauth1"), secret, url="https://api.example/?a=1")
    made = oauth_of(run(case))
    assert made == by_oauthlib(case, made)
    assert ("oauth_token" in made) == bool(secret.split(":")[2:3] not in ([], [""]))


@settings(max_examples=60)
@given(query=PAIRS, form=PAIRS, method=st.sampled_from(["HMAC-SHA1", "HMAC-SHA256"]))
def test_any_parameters_are_signed_as_oauthlib_does(
    query: list[tuple[str, str]], form: list[tuple[str, str]], method: str
) -> None:
    source = read("oauth1", METHOD=method, BODY_IS_FORM=True, REALM="1234567_SB1")
    url = f"https://api.example/rest/a%20b?{urlencode(query)}"
    case = Case(source, TOKENS, "POST", url, urlencode(form).encode())
    made = oauth_of(run(case))
    assert made["realm"] == "1234567_SB1"
    assert made == by_oauthlib(case, made, "1234567_SB1", form=True)


def test_the_example_of_oauth_core() -> None:
    """OAuth Core 1.0a, appendix A.5, whose nonce is put into the place of chance."""
    source = read("oauth1", METHOD="HMAC-SHA1").replace(
        "secrets.token_hex(16)", "'kllo9940pd9333jh'"
    )
    url = "http://photos.example.net/photos?file=vacation.jpg&size=original"
    made = oauth_of(run(Case(source, TOKENS, url=url, at=1_191_242_096)))
    assert made["oauth_signature"] == "tR3+Ty81lMeYAr/Fid0kMTYa/WM="


@pytest.mark.parametrize("secret", ["alone", "a:b:c", "a:b:c:d:e"])
def test_a_secret_of_another_shape_is_refused(secret: str) -> None:
    with pytest.raises(ScriptFailed, match="ValueError"):
        run(Case(read("oauth1"), secret))


def test_a_nonce_is_used_once() -> None:
    nonces = {
        oauth_of(run(Case(read("oauth1"), TOKENS, at=None)))["oauth_nonce"]
        for _ in range(20)
    }
    assert len(nonces) == 20


# ── JSON Web Tokens ───────────────────────────────────────────────────────────────────


def bearer(headers: dict[str, str]) -> str:
    scheme, _, token = headers.pop("Authorization").partition(" ")
    assert (scheme, headers) == ("Bearer", {})
    assert re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]+", token, re.ASCII)
    return token


@pytest.mark.parametrize("secret", ["s" * 32, "密钥🔑 äöüß " * 4, "x" * 300])
@pytest.mark.parametrize("issuer", ["erp", 'with "quotes" and ü'])
def test_joserfc_accepts_a_token_of_a_shared_secret(secret: str, issuer: str) -> None:
    source = read("jwt_hs256", ISSUER=issuer)
    token = jwt.decode(
        bearer(run(Case(source, secret))), OctKey.import_key(secret), ["HS256"]
    )
    assert token.header == {"alg": "HS256", "typ": "JWT"}
    assert token.claims == {
        "iss": issuer,
        "aud": "https://api.acme.example",
        "iat": AT,
        "exp": AT + 300,
    }


def test_joserfc_refuses_a_token_of_another_secret() -> None:
    with pytest.raises(BadSignatureError):
        jwt.decode(
            bearer(run(Case(read("jwt_hs256"), "s" * 32))),
            OctKey.import_key("t" * 32),
            ["HS256"],
        )


@cache
def rsa_key(bits: int) -> RSAKey:
    """Make a key once, since that takes seconds."""
    return RSAKey.generate_key(bits, auto_kid=False)


@pytest.mark.parametrize("key_id", ["", "key-1"])
@pytest.mark.parametrize("bits", [2048, 4096])
def test_joserfc_accepts_a_token_of_a_private_key(bits: int, key_id: str) -> None:
    key = rsa_key(bits)
    source = read("jwt_rs256", KEY_ID=key_id, LIFETIME=60)
    made = bearer(run(Case(source, key.as_pem(private=True).decode())))
    header = {"alg": "RS256", "typ": "JWT"} | ({"kid": key_id} if key_id else {})
    token = jwt.decode(made, RSAKey.import_key(key.as_pem(private=False)), ["RS256"])
    assert token.header == header
    assert token.claims == {
        "iss": "erp",
        "sub": "erp",
        "aud": "https://api.acme.example",
        "iat": AT,
        "exp": AT + 60,
    }


def test_the_key_in_the_example_is_the_rfc_s() -> None:
    """RFC 7515 appendix A.2: the modulus begins and ends like this."""
    pem = next(examples(read("jwt_rs256"))).secret
    modulus = RSAKey.import_key(pem).as_dict(private=False)["n"]
    assert modulus.startswith(
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddx"
    )
    assert modulus.endswith(
        "DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
    )


def test_a_key_that_is_none_is_named_by_the_line_only() -> None:
    with pytest.raises(ScriptFailed, match=r"ValueError in line \d+") as caught:
        run(Case(read("jwt_rs256"), "not a key"))
    assert "not a key" not in str(caught.value)


# ── Date, Digest and Signature ────────────────────────────────────────────────────────

# draft-cavage-http-signatures-12 appendix C, RFC 9530 appendix B.1.
DIGESTS = [
    (
        "Digest",
        b'{"hello": "world"}',
        "SHA-256=X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=",
    ),
    (
        "Content-Digest",
        b'{"hello": "world"}\n',
        "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:",
    ),
]


@pytest.mark.parametrize(("header", "body", "expected"), DIGESTS)
def test_a_digest_is_as_published(header: str, body: bytes, expected: str) -> None:
    source = read("date_digest", DIGEST=header)
    made = run(Case(source, "plain", "POST", body=body))
    assert made[header] == expected
    assert f"{header.lower()}: {expected}" in signed_text(made, "post /", "api.example")


def signed_text(made: dict[str, str], target: str, host: str) -> str:
    """Build the text from the request, by the names and order in the header."""
    received = {name.lower(): value for name, value in made.items()}
    received |= {"(request-target)": target, "host": host}
    names = re.search(r'headers="([^"]*)"', made["Signature"])
    assert names
    return "\n".join(f"{name}: {received[name]}" for name in names[1].split())


@pytest.mark.parametrize("header", ["Digest", "Content-Digest"])
@pytest.mark.parametrize("case", requests_of(""))
def test_a_server_can_check_date_digest_and_signature(case: Case, header: str) -> None:
    case = replace(case, script=read("date_digest", DIGEST=header, KEY_ID="key 7"))
    made = run(case)
    assert made.keys() == {"Date", "Signature"} | ({header} if case.body else set())
    assert parsedate_to_datetime(made["Date"]) == datetime.fromtimestamp(AT, UTC)
    host, _, rest = wire(case.url).partition("://")[2].partition("/")
    text = signed_text(made, f"{case.method.lower()} /{rest}", host)
    assert text.startswith(f"(request-target): {case.method.lower()} /{rest}\nhost: ")
    assert ("digest: " in text) == bool(case.body)
    expected = base64.b64encode(by_hand(case.secret.encode(), text.encode())).decode()
    assert (
        made["Signature"]
        == 'keyId="key 7",algorithm="hmac-sha256",headers="(request-target) host'
        f' date{" " + header.lower() if case.body else ""}",signature="{expected}"'
    )


# ── WSSE ──────────────────────────────────────────────────────────────────────────────

WSSE = re.compile(
    'UsernameToken Username="([^"]*)", PasswordDigest="([^"]*)", Nonce="([^"]*)",'
    ' Created="([^"]*)"'
)


def test_the_example_of_the_atom_article() -> None:
    """The nonce of that article is put into the place of chance."""
    nonce = "d36e316282959a9ed4c89851497a717f"
    source = read("wsse").replace("secrets.token_hex(16)", repr(nonce))
    assert run(Case(source, "bob:taadtaadpstcsm", at=1_071_499_387)) == {
        "X-WSSE": (
            'UsernameToken Username="bob",'
            f' PasswordDigest="quR/EWLAV4xLf9Zqyw4pDmfV9OY=", Nonce="{nonce}",'
            ' Created="2003-12-15T14:43:07Z"'
        )
    }


@pytest.mark.parametrize("variant", ["atom", "oasis", "emarsys"])
@pytest.mark.parametrize("password", [*SECRETS, "with:colon", ""])
def test_a_server_can_check_a_username_token(variant: str, password: str) -> None:
    made = run(Case(read("wsse", VARIANT=variant), f"customer001:{password}"))
    found = WSSE.fullmatch(made["X-WSSE"])
    assert found
    user, digest, nonce, created = found.groups()
    assert (user, created) == ("customer001", "2023-11-14T22:13:20Z")
    raw = (
        base64.b64decode(nonce, validate=True) if variant == "oasis" else nonce.encode()
    )
    expected = hashlib.sha1(raw + created.encode() + password.encode()).digest()
    if variant == "emarsys":
        expected = expected.hex().encode()
    assert base64.b64decode(digest, validate=True) == expected


def test_a_username_token_is_used_once() -> None:
    source = read("wsse")
    made = {run(Case(source, "bob:secret", at=None))["X-WSSE"] for _ in range(20)}
    assert len(made) == 20
