"""Texts that are made to keep a parser busy: each is refused in little time and memory.

Those that could take minutes are read in a process of their own, which is ended after
ten seconds. Time is that of the processor, so that other programs on the machine do not
count.
"""

import base64
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from outkey.administration.core.document.document import parse_document
from outkey.administration.core.policy.parsing import parse_policy
from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.core.errors import ConfigError, SyncFailed
from outkey.foundation.core.origin import Origin, parse_redirect
from outkey.foundation.core.script_syntax import check_script
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.toml.parsing import MAX_KEY_PARTS, parse_toml
from outkey.sending.adapters.tokens.signer_jose import JoseSigner
from outkey.sending.adapters.transport.tls_context import encrypt_key
from outkey.sending.core.oauth2.assertions import Assertion
from outkey.sync.core.line.checks import line_findings
from outkey.sync.core.line.line import (
    Direction,
    FieldMapping,
    Sync,
    SyncLine,
    Transform,
)
from outkey.sync.core.line.section import read_request
from outkey.sync.core.mapping.mapping import Unmapped, map_incoming
from outkey.sync.core.mapping.transforms import MappingContext, refusal_reason
from outkey.sync.core.paging.link_header import next_link
from outkey.sync.core.paging.response import MAX_VALUES, read_json

SECONDS, MEGABYTES = 0.1, 50


class Measured(NamedTuple):
    """What reading a text took, and what became of it."""

    seconds: float
    megabytes: float
    end: str


def measure(prepare: str, read: str) -> Measured:
    """Run two pieces of a program, and measure the second."""
    program = f"""
import re, resource, time
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
def peak():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) / 1024
{prepare}
before, began, end = peak(), time.process_time(), ""
try:
    {read}
except Exception as error:
    end = f"{{type(error).__name__}} {{getattr(error, 'reason', '')}}"
print(time.process_time() - began, peak() - before, end, sep="|")
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    seconds, megabytes, end = done.stdout.removesuffix("\n").split("|")
    return Measured(float(seconds), float(megabytes), end)


def assert_cheap(took: Measured, end: str) -> None:
    assert took.end == end
    assert took.seconds < SECONDS, took
    assert took.megabytes < MEGABYTES, took


# ── TOML ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text", ["'a.' * 6000 + 'a = 1'", "'[' + 'a.' * 60_000 + 'a]'"]
)
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("outkey.administration.core.document.document", "parse_document"),
        ("outkey.administration.core.policy.parsing", "parse_policy"),
    ],
)
def test_a_key_of_thousands_of_parts_is_refused_before_it_is_parsed(
    module: str, name: str, text: str
) -> None:
    took = measure(
        f"from {module} import {name} as parse\ntext = {text}",
        "parse(text)",
    )
    assert_cheap(took, "ConfigError ")


def dotted(parts: int, key: str = "a") -> str:
    return ".".join([key] * parts)


@pytest.mark.parametrize(
    "text",
    [
        f"{dotted(MAX_KEY_PARTS)} = 1",
        f"[{dotted(MAX_KEY_PARTS)}]",
        f'a = "{dotted(99)}"',
        f"a = '{dotted(99)}'",
        f'a = """\n{dotted(99)}"\\"""{dotted(99)}"""""',
        f"a = '''\n{dotted(99)}''{dotted(99)}'''''",
        f"a = 1 # {dotted(99)}",
        'a = "\\"" # it\'s\n' + f'b = "{dotted(99)}"',
        "a = [" + "1.5, " * 99 + "]",
        "a = { " + ", ".join(f"k{n} = 1.5" for n in range(99)) + " }",
        "\n".join(f"a{n} = 1.5" for n in range(99)),
    ],
)
def test_dots_that_are_in_no_long_key_count_for_nothing(text: str) -> None:
    assert parse_toml(text, longest=10_000)


@pytest.mark.parametrize(
    "text",
    [
        f"{dotted(MAX_KEY_PARTS + 1)} = 1",
        f"[[{dotted(MAX_KEY_PARTS + 1)}]]",
        dotted(MAX_KEY_PARTS + 1, '"a b"') + " = 1",
        " . ".join(["'a'"] * (MAX_KEY_PARTS + 1)) + " = 1",
        f"a = {{ {dotted(MAX_KEY_PARTS + 1)} = 1 }}",
        f'a = """{dotted(5)}""""\n{dotted(MAX_KEY_PARTS + 1)} = 1',
        f"a = 'b' # '\n{dotted(MAX_KEY_PARTS + 1)} = 1",
    ],
)
def test_a_key_of_too_many_parts_is_refused_wherever_it_is(text: str) -> None:
    with pytest.raises(ConfigError, match="more than 16 parts") as refused:
        parse_toml(text, longest=10_000, field="TOML")
    assert refused.value.field == "TOML"


@pytest.mark.parametrize(
    "text", ['\\"', '"a\n', "'''a", '"""\\"', "''a", "#\n", "\\'\""]
)
def test_unfinished_strings_take_no_time(text: str) -> None:
    took = measure(
        "from outkey.foundation.core.toml import parsing\n"
        f"text = {text!r} * ({128 * 1024} // {len(text)})",
        "parsing.parts_without_strings(text)",
    )
    assert_cheap(took, "")


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "9" * 5000])
def test_a_text_that_tomllib_cannot_take_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="nested too deeply or contains a number"):
        parse_toml(text, longest=10_000)


def test_a_toml_text_has_a_greatest_length() -> None:
    assert parse_toml("a = 1", longest=5)
    with pytest.raises(ConfigError, match="longer than 5 characters"):
        parse_toml("a = 12", longest=5)
    with pytest.raises(ConfigError, match="longer than 4194304 characters"):
        parse_document("#" * (4 * 1024 * 1024 + 1))
    with pytest.raises(ConfigError, match="not TOML"):
        parse_policy("#" * (64 * 1024 + 1))


def test_a_path_has_a_greatest_length() -> None:
    longest = {"configuration": "b", "path": "/" * 2000}
    assert read_request("a", longest, None).path == "/" * 2000
    with pytest.raises(ConfigError, match="longer than 2000") as refused:
        read_request("a", longest | {"path": "/" * 2001}, None, "line.a.")
    assert refused.value.field == "line.a.path"


# ── JMESPath ──────────────────────────────────────────────────────────────────────────

DOUBLED = "|[@,@]" * 24
SMALL = {"a": "x" * 10, "b": [1, 2], "c": {"k": [1]}}
BOMBS = {
    "text": "a" + "|join('',[@,@])" * 24,
    "separator": "join(a,[a,a,a])" + "|join(@,[@,@,@])" * 12,
    "list": "b" + "|[@,@][]" * 22,
    "shared": "@" + DOUBLED,
    "written": "@" + DOUBLED + "|to_string(@)",
    "compared": f"[@{DOUBLED},@{DOUBLED}]|[0]==[1]",
    "contained": f"[@{DOUBLED},@{DOUBLED}]|contains([[0]],[1])",
    "mapped": "b" + "|map(&[@,@],@)[]" * 16,
    "sorted": "b" + "|[@,@][]" * 14 + "|sort(@)",
    "sliced": "b" + "|[@,@][]|[::-1]" * 14,
    "objects": "b" + "|[@,@][].{a:@,b:@}" * 12,
    "merged": "[c,c]" + "|[].[merge(@,{x:@}),merge(@,{y:@})][]" * 12,
    "keys": (
        "b|[@,@]|[to_string(@)]" + "|[@,@][]" * 12 + "|sort_by(@,&join('',[@,@,@,@]))"
    ),
}


@pytest.mark.parametrize("expression", BOMBS.values(), ids=BOMBS)
def test_an_expression_that_doubles_a_value_is_stopped(expression: str) -> None:
    took = measure(
        "from outkey.foundation.adapters.paths_jmespath import JmespathCompiler\n"
        f"find = JmespathCompiler().compile({expression!r}, field='records')",
        f"find({SMALL!r})",
    )
    assert_cheap(took, "SyncFailed expression")


def test_a_text_that_is_doubled_on_a_large_page_is_stopped_too() -> None:
    took = measure(
        "from outkey.foundation.adapters.paths_jmespath import JmespathCompiler\nfind ="
        f" JmespathCompiler().compile({BOMBS['text']!r}, field='records')\npage ="
        f" {{'a':"
        " 'x' * 100_000, 'b': [{'n': n, 't': str(n)} for n in range(10_000)]}",
        "find(page)",
    )
    assert took.end == "SyncFailed expression"
    assert took.seconds < 0.5, took
    assert took.megabytes < MEGABYTES, took


@pytest.mark.parametrize("expression", BOMBS.values(), ids=BOMBS)
def test_what_is_wrong_is_said_with_a_hint_and_without_the_value(
    expression: str,
) -> None:
    with pytest.raises(SyncFailed) as stopped:
        JmespathCompiler().compile(expression, field="records")(
            SMALL | {"a": "hush-hush"}
        )
    assert (stopped.value.reason, stopped.value.__suppress_context__) == (
        "expression",
        True,
    )
    assert "Simplify" in stopped.value.hint
    assert "hush" not in f"{stopped.value} {stopped.value.hint}"


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("expression", "first"),
    [
        ("items || `[]`", "number"),
        (
            "items[?active].{id: number, name: name, city: address.city, tag: tags[0]}",
            "id",
        ),
        ("sort_by(items, &name) | reverse(@)", "number"),
        ("items[?contains(tags, 'b') && name != 'x' && tags == ['a','b']]", "number"),
        ("map(&merge(@, {whole: join(' ', [name, address.city])}), items)", "number"),
    ],
)
def test_usual_expressions_work_on_the_largest_pages(
    expression: str, first: str
) -> None:
    record = {"active": True, "address": {"city": "Bonn"}, "tags": ["a", "b"]}
    items = [{"number": n, "name": f"Name {n}", **record} for n in range(10_000)]
    found = JmespathCompiler().compile(expression, field="records")({"items": items})
    assert isinstance(found, list)
    assert len(found) == 10_000
    assert first in found[0]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("b[::-1]", [2, 1]),
        ("a[::-1]", None),
        ("b == `[1, 2]`", True),
        ("contains(b, c)", False),
        ("contains([b], b)", True),
        ("to_string(b)", "[1,2]"),
        ("a[]", None),
        ("min_by([{k: 'b'}, {k: 'a'}], &k).k", "a"),
    ],
)
def test_what_is_paid_for_is_done(expression: str, found: object) -> None:
    assert JmespathCompiler().compile(expression, field="x")(SMALL) == found


def test_a_long_text_may_be_joined_once() -> None:
    find = JmespathCompiler().compile("join('-', [a, a])", field="x")
    assert find({"a": "x" * 1_000_000}) == "-".join(["x" * 1_000_000] * 2)


# ── JSON ──────────────────────────────────────────────────────────────────────────────

FLOODS = {
    "objects": "b'{},'",
    "lists": "b'[],'",
    "decimals": "b'1.5,'",
    "small objects": """b'{"a":1},'""",
    "texts": """b'"",'""",
    "nested": "b'[' * 900 + b']' * 900 + b','",
}


@pytest.mark.parametrize("part", FLOODS.values(), ids=FLOODS)
def test_a_response_of_millions_of_values_is_refused_before_they_are_made(
    part: str,
) -> None:
    took = measure(
        "from outkey.sync.core.paging.response import read_json\n"
        f"part = {part}\nbody = b'[' + part * (2**25 // len(part)) + b'1]'",
        "read_json(body)",
    )
    assert took.end == "SyncFailed too_many_values"
    # written in Python, so other threads go on
    assert took.seconds < 20 * SECONDS, took
    assert took.megabytes < MEGABYTES, took


def test_as_many_values_as_are_allowed_are_read() -> None:
    assert len(read_json(b"[1" + b",1" * 9 + b"]", most_values=11)) == 10  # type: ignore[arg-type]
    with pytest.raises(SyncFailed) as refused:
        read_json(b"[1" + b",1" * 10 + b"]", most_values=11)
    assert refused.value.reason == "too_many_values"
    assert "pagination.size" in refused.value.hint
    assert read_json('["ü", {}]') == ["ü", {}]
    commas = json.dumps([",,,,", '",,,,'])
    assert read_json(commas, most_values=3) == [",,,,", '",,,,']
    assert read_json(commas.encode("utf-16"), most_values=20) == [",,,,", '",,,,']
    with pytest.raises(SyncFailed):
        read_json(commas.encode("utf-16"), most_values=3)
    assert MAX_VALUES >= 10_000 * 100


def test_a_large_page_of_plain_records_is_read() -> None:
    record = {"id": 1, "text": '1,2," ' * 450, "amount": 1.5, "tags": ["a"]}
    page = json.dumps([record] * 10_000).encode()
    assert len(page) > 30_000_000
    assert page.count(b",") > MAX_VALUES  # most of them in texts
    records = read_json(page)
    assert isinstance(records, list)
    assert (len(records), records[-1]["amount"]) == (10_000, Decimal("1.5"))


@pytest.mark.parametrize("number", ["{}", "-{}", "0.{}", "1e{}"])
def test_a_number_of_more_digits_than_any_has_is_refused(number: str) -> None:
    with pytest.raises(SyncFailed) as refused:
        read_json(f"[{number.format('9' * 400)}0]")
    assert refused.value.reason == "not_json"
    assert read_json(f"[{'9' * 400}]") == [int("9" * 400)]


def longest_pause(work: Callable[[], object]) -> float:
    """Return for how long another thread could not run while something was done."""
    pauses, ended = [0.0], threading.Event()

    def watch() -> None:
        seen = time.monotonic()
        while not ended.wait(0.001):
            now = time.monotonic()
            pauses.append(now - seen)
            seen = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.monotonic()
    work()
    took = time.monotonic() - began
    ended.set()
    watcher.join()
    return max(pauses) / took


def test_other_threads_run_while_a_large_response_is_parsed() -> None:
    page = b'{"items": [' + b'{"a": 1, "b": 2.5},' * 300_000 + b"{}]}"
    assert longest_pause(lambda: read_json(page)) < 0.5


# ── values, templates and checks of a line ────────────────────────────────────────────

MEANS = MappingContext(ZoneInfo)


def test_a_template_makes_no_text_of_a_million_characters() -> None:
    def filled(times: int, length: int) -> object:
        options = {"template": "{a}" * times}
        mapping = FieldMapping("a", "b", Transform.TEMPLATE, options=options)
        return map_incoming([mapping], [{"a": "x" * length}], MEANS)

    assert filled(10, 100_000) == {"b": "x" * 1_000_000}
    assert filled(10, 100_001) == Unmapped("b", "too_long")


@pytest.mark.parametrize(
    ("transform", "options", "reason"),
    [
        (Transform.DECIMAL, {}, "no_number"),
        (Transform.DECIMAL, {"decimal_mark": ","}, "no_number"),
        (Transform.DATE, {"format": "%d %m %Y"}, "no_date"),
        (Transform.DATETIME, {"format": "unix"}, "no_date"),
    ],
)
def test_a_long_text_is_no_number_and_no_date(
    transform: Transform, options: dict[str, str], reason: str
) -> None:
    mapping = FieldMapping("a", "b", transform, options=options)
    for text in (
        "1" + ".000" * 2_000_000,
        "1" + " " * 8_000_000 + "x",
        "9" * 8_000_000,
    ):
        began = time.process_time()
        assert refusal_reason(mapping, text, MEANS) == reason
        assert time.process_time() - began < SECONDS


def found_in(sync: Sync) -> list[tuple[str, str]]:
    line = SyncLine("contacts", "acme", "POST", "/", sync)
    return [
        (finding.id, finding.field)
        for finding in line_findings(line, sync, [], ZoneInfo)
    ]


def test_a_format_with_one_part_twice_is_a_finding() -> None:
    mapping = FieldMapping("a", "b", Transform.CONSTANT, options={"value": "x"})
    twice = replace(mapping, transform=Transform.AS_IS, options={"format": "%d %d"})
    pull = Sync(target="t", keys=("b",), mappings=(twice,))
    from outkey.sync.core.mapping.records import FieldKind, HostField

    fields = [HostField("b", "B", FieldKind.DATE)]
    findings = line_findings(
        SyncLine("l", "c", "GET", "/", pull), pull, fields, ZoneInfo
    )
    assert ("L001", "fields[0].options.format") in [
        (one.id, one.field) for one in findings
    ]


def test_unknown_names_in_a_body_are_reported_once_and_not_by_the_thousand() -> None:
    rows = tuple(
        FieldMapping(
            f"a{n}", "h" * 60 + str(n), Transform.CONSTANT, options={"value": "x"}
        )
        for n in range(1000)
    )
    body = json.dumps("".join(f"{{x{n}}}" for n in range(3000)) + "{y}" * 10_000)
    sync = Sync(Direction.PUSH, "t", (), rows, body=body)
    began = time.process_time()
    assert found_in(sync).count(("L008", "body")) == 20
    # as much as a thousand fields take
    assert time.process_time() - began < 5 * SECONDS
    assert found_in(replace(sync, body='"{x}{x}"')).count(("L008", "body")) == 1


@pytest.mark.parametrize(
    ("names", "clashing"),
    [
        (["a", "b"], []),
        (["a", "a"], [0, 1]),
        (["a", "a.b", "ab"], [0]),
        (["a.b.c", "a.b", "a.d"], [1]),
        (["a.b", "a.bc"], []),
    ],
)
def test_two_fields_of_a_push_in_one_place_are_found(
    names: list[str], clashing: list[int]
) -> None:
    rows = tuple(
        FieldMapping(name, f"h{n}", Transform.CONSTANT, options={"value": "x"})
        for n, name in enumerate(names)
    )
    found = [
        field
        for kind, field in found_in(Sync(Direction.PUSH, "t", (), rows))
        if kind == "L010"
    ]
    assert found == [f"fields[{number}].api" for number in clashing]


@pytest.mark.parametrize(("parts", "findings"), [(16, 0), (17, 1)])
def test_a_name_that_is_sent_has_not_too_many_parts(parts: int, findings: int) -> None:
    row = FieldMapping(dotted(parts), "h", Transform.CONSTANT, options={"value": "x"})
    found = found_in(Sync(Direction.PUSH, "t", (), (row,)))
    assert found.count(("L001", "fields[0].api")) == findings


# ── addresses, headers, scripts and keys ──────────────────────────────────────────────


@pytest.mark.parametrize(
    "host", ["ä" * 60_000, "xn--" + "a" * 60_000 + "ä", "\ufdfa" * 3000]
)
def test_a_host_name_that_is_too_long_is_refused_before_it_is_encoded(
    host: str,
) -> None:
    began = time.process_time()
    with pytest.raises(ConfigError, match="host name is invalid"):
        parse_redirect(Origin("https", "a.example", 443), "/", f"https://{host}/")
    assert time.process_time() - began < SECONDS


def test_a_link_header_is_read_up_to_a_length() -> None:
    long = '<a>;a="' + "\\a" * 20_000 + '"'
    began = time.process_time()
    assert next_link([long] * 16 + ['<b>;rel="next"']) is None
    assert time.process_time() - began < 2 * SECONDS
    assert next_link(["<a>;rel=prev", '<b>;rel="next"']) == "b"


def test_a_script_of_thousands_of_gaps_is_refused_before_it_is_parsed() -> None:
    source = (
        "def compute_auth_header(sync_line):\n    return {'A': f'"
        + "{a}" * 20_000
        + "'}\n"
    )
    began = time.process_time()
    with pytest.raises(ConfigError, match="more than 2000 opening braces"):
        check_script(source)
    assert time.process_time() - began < SECONDS
    check_script(
        "def compute_auth_header(sync_line):\n    return {}\n" + "{1}\n" * 1999
    )


def rsa_key(first: int, second: int) -> str:
    """Return a JWK of Mersenne primes, which anybody can make as long as they like."""
    p, q, e = 2**first - 1, 2**second - 1, 65537
    d = pow(e, -1, (p - 1) * (q - 1))
    numbers = {"n": p * q, "e": e, "d": d, "p": p, "q": q}
    numbers |= {"dp": d % (p - 1), "dq": d % (q - 1), "qi": pow(q, -1, p)}

    def encoded(number: int) -> str:
        octets = number.to_bytes((number.bit_length() + 7) // 8, "big")
        return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()

    return json.dumps(
        {"kty": "RSA"} | {name: encoded(n) for name, n in numbers.items()}
    )


def test_a_key_of_far_too_many_bits_is_refused_before_its_primes_are_checked() -> None:
    key = Secret(rsa_key(4423, 4253))
    began = time.process_time()
    with pytest.raises(ConfigError, match="not a private key") as refused:
        JoseSigner().assertion(Assertion({"iss": "a"}, key, "client_secret"))
    assert "4096 bits" in refused.value.hint
    text = "-----BEGIN PRIVATE KEY-----\n" + "A" * 6000 + "\n-----END PRIVATE KEY-----"
    with pytest.raises(ConfigError, match="not a private key"):
        JoseSigner().assertion(Assertion({"iss": "a"}, Secret(text), "client_secret"))
    with pytest.raises(ConfigError, match="more than 4096 bits"):
        encrypt_key(text, Secret("p"))
    assert time.process_time() - began < 10 * SECONDS  # the library is loaded too
