"""What a script sees, what it may import, and what comes back."""

import hashlib
import hmac
import time

import pytest

from outkey.foundation.core.errors import HeaderFormatError, ScriptFailed, SecretMissing
from outkey.foundation.core.script_syntax import OFFERED
from outkey.sending.adapters.scripts_locked.pool import LockedScripts
from scripts.conftest import EXAMPLE, body_of, call_of

AT = 1_700_000_000.0
# From the specification's formula, by another implementation:
# printf 1700000000 | openssl dgst
# -sha256 -hmac SECRET
VECTORS = {
    "topsecret": "a21fd4816ec741b58b2f890f9fff62579b0c122d02c78096b0a92bc4825c506b",
    "schlüssel-🔑-ключ": (
        "f37429d3d61d528d29f04113f1c89c683f96aa22dfda534c6ae1c1a2acbd9175"
    ),
}


def shown(scripts: LockedScripts, source: str, **more: object) -> dict[str, str]:
    return {
        name: value.reveal()
        for name, value in scripts.run(call_of(source, **more)).headers
    }  # type: ignore[arg-type]


def test_the_example_of_the_specification_runs_unchanged(shared: LockedScripts) -> None:
    headers = shown(shared, EXAMPLE, secret="topsecret")
    stamp = headers["X-Timestamp"]
    assert abs(int(stamp) - time.time()) < 5
    expected = hmac.new(b"topsecret", stamp.encode(), hashlib.sha256).hexdigest()
    assert list(headers.items())[1] == ("X-Signature", expected)


@pytest.mark.parametrize("secret", VECTORS)
def test_known_vectors_come_out(shared: LockedScripts, secret: str) -> None:
    assert shown(shared, EXAMPLE, secret=secret, at=AT) == {
        "X-Timestamp": "1700000000",
        "X-Signature": VECTORS[secret],
    }


def test_a_script_sees_line_configuration_and_request(shared: LockedScripts) -> None:
    source = body_of(
        "c, r = sync_line.api_config_id, sync_line.request",
        "return {'A': '|'.join((sync_line.name, c.name, c.base_url, c.username,"
        " r.method, r.url,",
        "        r.path, r.query, repr(r.body)))}",
    )
    assert shown(shared, source, body=b"\x00\n\xff") == {
        "A": (
            "orders|acme|https://api.acme.example|erp|GET"
            "|https://api.acme.example/v1/orders?page=2|/v1/orders|page=2|b'\\x00\\n\\xff'"
        )
    }


def test_an_ad_hoc_request_has_no_name_and_no_body(shared: LockedScripts) -> None:
    source = body_of("return {'A': repr((sync_line.name, sync_line.request.body))}")
    assert shown(shared, source, name="") == {"A": "('', b'')"}


def test_odd_texts_arrive_as_they_are(shared: LockedScripts) -> None:
    source = body_of("return {'A': ascii((sync_line.name, sync_line.request.url))}")
    name, url = "línea\n🔑\ud800", "https://a.example/" + "x" * 9000
    assert shown(shared, source, name=name, url=url) == {"A": ascii((name, url))}


def test_a_script_sees_whose_account_sends_the_request(shared: LockedScripts) -> None:
    source = body_of("return {'A': sync_line.connection or 'none'}")
    assert shown(shared, source, connection="acme:7") == {"A": "acme:7"}
    assert shown(shared, source) == {"A": "none"}


def test_a_nul_character_is_refused(shared: LockedScripts) -> None:
    with pytest.raises(ScriptFailed, match="NUL"):
        shared.run(call_of(name="a\0b"))


@pytest.mark.parametrize("size", [4000, 4096, 70_000, 1024 * 1024, 16 * 1024 * 1024])
def test_bodies_of_any_size_are_signed(shared: LockedScripts, size: int) -> None:
    source = "import hashlib\n" + body_of(
        "return {'A': hashlib.sha256(sync_line.request.body).hexdigest()}"
    )
    body = bytes(range(256)) * (size // 256)
    assert shown(shared, source, body=body) == {"A": hashlib.sha256(body).hexdigest()}


def test_a_body_that_is_too_large_is_refused(shared: LockedScripts) -> None:
    with pytest.raises(ScriptFailed, match="16 MiB"):
        shared.run(call_of(body=bytes(16 * 1024 * 1024 + 1)))


IMPORTS = {
    "hmac": "hmac.new(b'k', b'', 'sha3_256').hexdigest()",
    "hashlib": "hashlib.pbkdf2_hmac('sha512', b'a', b'b', 2).hex()",
    "base64": "base64.b64encode(b'ab').decode()",
    "binascii": "str(binascii.crc32(b'a'))",
    "datetime": "datetime.datetime.strptime('2026-01-02', '%Y-%m-%d').isoformat()",
    "zoneinfo": (
        "zoneinfo.ZoneInfo('Europe/Berlin').key + str(zoneinfo.ZoneInfo('UTC'))"
    ),
    "json": "json.dumps({'a': [1]}, indent=1)[2:5]",
    "urllib.parse": "urllib.parse.urlencode({'a': 'ü ö'})",
    "uuid": "str(uuid.uuid4()) + str(uuid.uuid5(uuid.NAMESPACE_URL, 'a'))",
    "secrets": "secrets.token_urlsafe()",
    "random": "str(random.random())",
    "re": "re.sub(r'(?i)A+', 'b', 'aaa')",
    "string": "string.Template('$a').substitute(a=1)",
    "struct": "struct.pack('>I', 7).hex()",
    "math": "str(math.sqrt(4))",
    "email.utils": "email.utils.formatdate(usegmt=True)",
    "calendar": "str(calendar.timegm((2026, 1, 1, 0, 0, 0)))",
    "itertools": "''.join(itertools.chain('a', 'b'))",
    "functools": "functools.reduce(lambda a, b: a + b, 'abc')",
    "collections": "str(collections.Counter('aab')['a'])",
    "collections.abc": "str(collections.abc.Mapping is not None)",
    "decimal": "str(decimal.Decimal('1.1') * 3)",
    "time": "time.strftime('%Y') + str(time.localtime().tm_year)",
}


@pytest.mark.parametrize("name", IMPORTS)
def test_imports_inside_the_function_work(shared: LockedScripts, name: str) -> None:
    assert shown(shared, body_of(f"import {name}", f"return {{'A': {IMPORTS[name]}}}"))[
        "A"
    ]


@pytest.mark.parametrize("name", OFFERED)
def test_all_that_is_offered_can_be_imported(shared: LockedScripts, name: str) -> None:
    assert shared.run(call_of(f"import {name}\n" + body_of("return {}"))).headers == ()


@pytest.mark.parametrize(
    "name",
    ["os", "sys", "socket", "subprocess", "ctypes", "nowhere", "ssl", "urllib.request"],
)
def test_other_imports_are_an_import_error(shared: LockedScripts, name: str) -> None:
    with pytest.raises(ScriptFailed, match="raised ImportError in line 2") as caught:
        shared.run(call_of(body_of(f"import {name}", "return {}")))
    assert "hmac" in caught.value.hint


def test_cryptography_signs(shared: LockedScripts) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

    encoding = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    source = """
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding
def compute_auth_header(sync_line):
    # To check an RSA key takes longer than a call may, on a slow or busy machine.
    key = serialization.load_pem_private_key(
        sync_line.api_config_id.get_secret_key().encode(), None,
        unsafe_skip_rsa_key_validation=True)
    kind = sync_line.name
    if kind == "rsa":
        made = key.sign(b"text", padding.PKCS1v15(), hashes.SHA256())
    elif kind == "ec":
        made = key.sign(b"text", ec.ECDSA(hashes.SHA256()))
    else:
        made = key.sign(b"text")
    return {"Signature": made.hex()}
"""
    big = rsa.generate_private_key(65537, 2048)
    curve, edwards = (
        ec.generate_private_key(ec.SECP256R1()),
        ed25519.Ed25519PrivateKey.generate(),
    )

    def made(
        name: str,
        key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey,
    ) -> bytes:
        pem = key.private_bytes(*encoding).decode()
        return bytes.fromhex(shown(shared, source, secret=pem, name=name)["Signature"])

    big.public_key().verify(
        made("rsa", big), b"text", padding.PKCS1v15(), hashes.SHA256()
    )
    curve.public_key().verify(made("ec", curve), b"text", ec.ECDSA(hashes.SHA256()))
    edwards.public_key().verify(made("ed25519", edwards), b"text")
    with pytest.raises(InvalidSignature):  # so that the three above could have failed
        edwards.public_key().verify(made("ed25519", edwards), b"another text")


CLOCKS = """
import time, datetime, email.utils, random, secrets, uuid
from datetime import datetime as kind, date
def compute_auth_header(sync_line):
    parts = (time.time(), time.time_ns(), time.gmtime()[:6], time.localtime()[:6],
        time.strftime("%Y-%m-%d %H:%M:%S"), time.ctime(), time.asctime(),
        kind.now().timestamp(),
        kind.now(datetime.timezone.utc).isoformat(), kind.utcnow().isoformat(),
        datetime.datetime.today().timestamp(), date.today().isoformat(),
        email.utils.formatdate(usegmt=True), random.random(), secrets.token_hex(),
        uuid.uuid4(),
        isinstance(kind.now(), datetime.datetime),
        (kind.now() - kind.now()).total_seconds())
    return {"A": repr(parts)}
"""


def test_a_trial_has_a_stopped_clock_and_repeats_itself(shared: LockedScripts) -> None:
    first = shown(shared, CLOCKS, at=AT)["A"]
    time.sleep(0.01)
    assert shown(shared, CLOCKS, at=AT)["A"] == first
    assert "1700000000.0, 1700000000000000000, (2023, 11, 14, 22, 13, 20)" in first
    assert "'Tue, 14 Nov 2023 22:13:20 GMT'" in first
    assert "'2023-11-14T22:13:20+00:00', '2023-11-14T22:13:20'" in first


def test_a_trial_leaves_no_worker(shared: LockedScripts) -> None:
    before = dict(shared._slots)
    shown(shared, EXAMPLE, at=AT, place="only tried")
    assert shared._slots == before


def test_workers_do_not_share_their_chance(shared: LockedScripts) -> None:
    source = "import random, secrets\n" + body_of(
        "return {'A': str(random.random()), 'B': secrets.token_hex()}"
    )
    one, other = (shown(shared, source, place=place) for place in ("one", "other"))
    assert one["A"] != other["A"]
    assert one["B"] != other["B"]


def test_state_lasts_within_a_worker_only(shared: LockedScripts) -> None:
    source = "n = 0\n" + body_of("global n", "n += 1", "return {'N': str(n)}")
    assert [shown(shared, source, place="a")["N"] for _ in range(3)] == ["1", "2", "3"]
    assert shown(shared, source, place="b")["N"] == "1"


def test_an_empty_mapping_adds_nothing(shared: LockedScripts) -> None:
    assert shared.run(call_of(body_of("return {}"))).headers == ()


def test_headers_and_query_are_two_parts_when_one_is_a_mapping(
    shared: LockedScripts,
) -> None:
    def run(expression: str) -> tuple[dict[str, str], dict[str, str]]:
        headers, query = shared.run(call_of(body_of(f"return {expression}")))
        return (
            {name: value.reveal() for name, value in headers},
            {name: value.reveal() for name, value in query},
        )

    assert run("{'headers': {'A': '1'}, 'query': {'b': '2', 'c': ''}}") == (
        {"A": "1"},
        {"b": "2", "c": ""},
    )
    assert run("{'query': {'b': '2'}}") == ({}, {"b": "2"})
    assert run("{'headers': {'A': '1'}}") == ({"A": "1"}, {})
    assert run("{'headers': {}, 'query': {}}") == ({}, {})
    # As before: two headers with these names.
    assert run("{'headers': '1', 'query': '2'}") == ({"headers": "1", "query": "2"}, {})


def test_a_script_sees_headers_as_pairs_of_name_and_value(
    shared: LockedScripts,
) -> None:
    source = body_of("return {'A': repr(sync_line.request.headers)}")
    headers = (("Host", "api.acme.example"), ("X-Empty", ""))
    assert shown(shared, source, headers=headers) == {"A": repr(headers)}
    assert shown(shared, source) == {"A": "()"}


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("{'headers': {}, 'query': 7}", "returned int as query and not a mapping"),
        ("{'headers': None, 'query': {}}", "returned NoneType and not a mapping"),
        ("{'query': {1: 'a'}}", "parameter name that is int and not text"),
        ("{'query': {'a': 1}}", "parameter value that is int and not text"),
        ("{'query': {'a': 'x\\nb'}}", "parameter with a line break"),
        ("{'query': {'a': '\\ud800'}}", "not Unicode"),
        ("{'query': {'a': 'x' * 70000}}", "64 KiB"),
        (
            "{'query': {'a': 'x' * 40000}, 'headers': {'A': 'x' * 40000}}",
            "64 KiB",
        ),
        ("{'query': {}, 'hunter2': 'x'}", "another key beside headers and query"),
    ],
)
def test_what_is_no_query_is_said(
    shared: LockedScripts, expression: str, message: str
) -> None:
    with pytest.raises(HeaderFormatError, match=message) as caught:
        shared.run(call_of(body_of(f"return {expression}")))
    assert "hunter2" not in str(caught.value)


def test_any_mapping_and_any_text_will_do(shared: LockedScripts) -> None:
    source = "import types, enum\n" + body_of(
        "class A(enum.StrEnum):",
        "    B = 'value'",
        "return types.MappingProxyType({'X-Ä': A.B, 'Y': ''})",
    )
    assert shown(shared, source) == {"X-Ä": "value", "Y": ""}


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("None", "returned NoneType and not a mapping"),
        ("'text'", "returned str and not a mapping"),
        ("[('A', 'b')]", "returned list and not a mapping"),
        ("type('Mine', (tuple,), {})()", "returned tuple and not a mapping"),
        ("type('Mine', (), {})()", "returned object and not a mapping"),
        ("(x for x in [])", "returned generator and not a mapping"),
        ("{1: 'a'}", "name that is int and not text"),
        ("{None: 'a'}", "name that is NoneType"),
        ("{b'A': 'a'}", "name that is bytes"),
        ("{'A': None}", "value that is NoneType"),
        ("{'A': 1.5}", "value that is float"),
        ("{'A': b'x'}", "value that is bytes"),
        ("{'A\\nB': 'x'}", "line break"),
        ("{'A': 'x\\nB'}", "line break"),
        ("{'A\\rB': 'x'}", "line break"),
        ("{'A': '\\ud800'}", "not Unicode"),
        ("{'A': 'x' * 70000}", "64 KiB"),
        ("{'A': 'ü' * 40000}", "64 KiB"),
    ],
)
def test_what_are_no_headers_is_said(
    shared: LockedScripts, expression: str, message: str
) -> None:
    with pytest.raises(HeaderFormatError, match=message):
        shared.run(call_of(body_of(f"return {expression}")))


RETURN = 'return {"X-Name": "text"}'


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("None", f"End every path through the function with: {RETURN}"),
        ("'text'", RETURN),
        ("[('A', 'b')]", RETURN),
        ("{'A', 'b'}", RETURN),
        ("{'A': 1}", "str(number)"),
        ("{'A': 1.5}", "str(number)"),
        ("{1: 'a'}", "str(number)"),
        ("{'A': b'x'}", ".decode(), or base64.b64encode"),
        ("{b'A': 'a'}", ".decode(), or base64.b64encode"),
        ("{'A': None}", "Omit the header"),
        ("{'A': True}", RETURN),
        ("{'A': ['x']}", RETURN),
        ("{'A': 'x\\n'}", "not encodebytes"),
        ("{'A\\rB': 'x'}", "not encodebytes"),
    ],
)
def test_what_to_return_instead_is_said(
    shared: LockedScripts, expression: str, hint: str
) -> None:
    with pytest.raises(HeaderFormatError) as caught:
        shared.run(call_of(body_of(f"return {expression}")))
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (body_of("1/0"), "the script raised ZeroDivisionError in line 2"),
        ("x = 1\nraise KeyError", "the script raised KeyError in line 2"),
        ("def broken(:\n", "the script raised SyntaxError in line 1"),
        ("y = 1", "the script has no function compute_auth_header"),
        (body_of("raise SystemExit"), "the script raised SystemExit in line 2"),
        (
            body_of("import zoneinfo", "zoneinfo.ZoneInfo('No/Where')"),
            "raised KeyError in line 3",
        ),
        (body_of("open('/etc/passwd')"), "raised PermissionError in line 2"),
        ("import json\n" + body_of("json.loads('')"), "raised ValueError in line 3"),
    ],
)
def test_errors_name_type_and_line(
    shared: LockedScripts, source: str, message: str
) -> None:
    with pytest.raises(ScriptFailed, match=message):
        shared.run(call_of(source))


def test_a_secret_that_nobody_entered_is_missing(shared: LockedScripts) -> None:
    with pytest.raises(SecretMissing) as caught:
        shared.run(call_of(secret=None))
    assert caught.value.field == "secret_key"
    assert shared.run(call_of(body_of("return {}"), secret=None)).headers == ()
    assert shown(
        shared,
        body_of("return {'A': sync_line.api_config_id.get_secret_key()}"),
        secret="",
    ) == {"A": ""}


def test_printing_does_nothing(shared: LockedScripts) -> None:
    assert shared.run(call_of(body_of("print('x')", "return {}"))).headers == ()
