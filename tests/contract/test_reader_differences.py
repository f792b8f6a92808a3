"""Where our reader differs from http.client, h11 and aiohttp, and why.

A difference without an explanation fails, and so does an explanation without a
difference.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

import pytest

from contract.odd_responses import CASES, Case
from contract.other_readers import Opinion, by_aiohttp, by_h11, by_http_client
from contract.reading import Outcome, Read, read

LIMIT = 4096
ALL = ("http.client", "h11", "aiohttp")
CLIENT, H11, AIOHTTP = (("http.client",), ("h11",), ("aiohttp",))
CONTROL = rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
BARE_LF = rb"(?<!\r)\n"
BARE_CR = rb"\r(?!\n)"


class Rule(NamedTuple):
    """Why others differ from us, and in which cases.

    They `accept` what we refuse, `refuse` what we accept, or read another `status`,
    `body` or `headers`, or differ in the `reuse` of the connection.
    """

    who: tuple[str, ...]
    what: str
    why: str
    cases: tuple[str, ...] = ("*",)
    pattern: bytes = b""

    def explains(self, case: Case, who: str, what: str) -> bool:
        return (
            who in self.who
            and what == self.what
            and any(fnmatchcase(case.name, glob) for glob in self.cases)
            and re.search(self.pattern, case.data) is not None
        )


RULES = {
    "control characters in values": Rule(
        H11,
        "refuse",
        "RFC 9110 §5.5 permits to keep them; what shows a value escapes it.",
        pattern=rb"\r\n[^\r\n:]+:[^\r\n]*" + CONTROL,
    ),
    # ── heads that we refuse ──────────────────────────────────────────────────────────
    "control characters": Rule(
        ALL,
        "accept",
        "A control character is kept in a value, RFC 9110 §5.5, but not in a name, a"
        " trailer or the status line; no server needs one there.",
        pattern=rb"(?:\A|\r\n)[^\r\n]*" + CONTROL,
    ),
    "bare LF": Rule(
        ALL,
        "accept",
        "Heads with LF alone in all lines are read, RFC 9112 §2.2, but none that mix:"
        " who filters CR LF but not LF from what it repeats would let others write"
        " header lines. Chunks have CR LF.",
        pattern=BARE_LF,
    ),
    "bare CR": Rule(
        (*CLIENT, *H11),
        "accept",
        "RFC 9112 §2.2: a bare CR is invalid or a blank. To Python's email parser it"
        " is a line end; h11 skips it in extensions.",
        pattern=BARE_CR,
    ),
    "other versions": Rule(
        ALL,
        "accept",
        "The framing is that of HTTP/1.0 and HTTP/1.1; nobody says what it is in"
        " others.",
        ("status/*",),
        rb"\AHTTP/(?!1\.[01] )",
    ),
    "other protocols": Rule(
        AIOHTTP,
        "accept",
        "llhttp reads RTSP and ICE too.",
        ("status/*",),
        rb"\A(?:RTSP|ICE)/",
    ),
    "blanks in the status line": Rule(
        CLIENT,
        "accept",
        "RFC 9112 §4 has one blank each; http.client splits at any.",
        ("status/*",),
        rb"\A[ \t]|\AHTTP/1\.1(?: {2}|\t)|\AHTTP/1\.1 200\t",
    ),
    "a status of four digits": Rule(
        CLIENT, "accept", "A status has three digits.", ("status/HTTP/1.1 0200*",)
    ),
    "empty lines before": Rule(
        AIOHTTP,
        "accept",
        "They are left over from another response: the connection is out of step.",
        pattern=rb"\A[\r\n]|\A(?:HTTP/1.1 100 Continue\r\n)\r\n\r\n",
    ),
    "names that are no tokens": Rule(
        CLIENT,
        "accept",
        "http.client drops such a line with all that follow, also a Content-Length.",
        ("header/*", "length line/*", "coding line/*", "interim/*X : y*", "trailer/*"),
        rb"\r\n(?![\w!#$%&'*+.^`|~-]+:)[^\r\n]+\r\n",
    ),
    "names that Python decodes": Rule(
        CLIENT,
        "accept",
        "A name has no letter beyond ASCII.",
        ("header/X*", "trailer/X*"),
        rb"\r\nX[\x80-\xff]+:",
    ),
    "a blank before the colon": Rule(
        AIOHTTP,
        "accept",
        "RFC 9112 §5.1: the name would be read differently by others.",
        ("length line/*", "coding line/*"),
        rb"-\w+ :",
    ),
    "a first line that is folded": Rule(
        (*CLIENT, *AIOHTTP),
        "accept",
        "There is nothing that it could continue.",
        pattern=rb"\AHTTP/1.1 200 OK\r\n[ \t]",
    ),
    "an end inside the head": Rule(
        CLIENT,
        "accept",
        "http.client takes the end of the connection for the end of the head. A header"
        " may be missing then.",
        ("cut/*",),
    ),
    # ── lengths that we refuse ────────────────────────────────────────────────────────
    "a length that is no number": Rule(
        CLIENT,
        "accept",
        "http.client reads it as Python does, or else reads until the connection ends.",
        ("length/*", "length line/*Content-Length:", "fold/Content-Length: 1*"),
    ),
    "a length twice": Rule(
        (*CLIENT, *H11),
        "accept",
        "RFC 9110 §8.6 permits to accept the same number twice. Somebody added it"
        " without looking, and the two need not agree the next time.",
        ("length/5,*5", "length line/Content-Length: 5*ontent-?ength:*"),
    ),
    "a length and a coding": Rule(
        (*CLIENT, *H11),
        "accept",
        "RFC 9112 §6.3 calls it an attempt at smuggling, which ought to be an error.",
        pattern=rb"Content-Length: \d+\r\nTransfer-|Transfer-[^\r]+\r\nContent-Length",
    ),
    "a length beyond all memory": Rule(
        AIOHTTP,
        "accept",
        "aiohttp's parser takes the largest number for none.",
        ("length/18446744073709551615",),
    ),
    "codings but chunked": Rule(
        (*CLIENT, *AIOHTTP),
        "accept",
        "We ask for no other coding and undo none; the body would not be what was"
        " meant.",
        ("coding/*", "coding line/*", "no body*", "fold/Transfer-Encoding: chunk*"),
        rb"Transfer-Encoding:(?! ?chunked ?\r\n\r\n)",
    ),
    # ── chunks that we refuse ─────────────────────────────────────────────────────────
    "a chunk size as Python reads it": Rule(
        CLIENT,
        "accept",
        "A size is hexadecimal digits; signs, prefixes and underscores are Python's.",
        ("chunks/*",),
        rb"\n(?:[ \t+-]|0x|0_)",
    ),
    "another end of a chunk": Rule(
        CLIENT,
        "accept",
        "http.client skips two bytes after a chunk, whatever they are.",
        ("chunks/*helloXX0*",),
    ),
    "a shorter chunk": Rule(
        AIOHTTP,
        "accept",
        "Lenient with line ends, aiohttp takes the CR into the chunk.",
        ("chunks/6*",),
    ),
    "an end inside the trailers": Rule(
        CLIENT,
        "accept",
        "http.client takes the end of the connection for the end of the trailers.",
        ("chunks/5*0", r"chunks/5*0\r\n"),
    ),
    "extensions that are none": Rule(
        (*CLIENT, *H11),
        "accept",
        "They skip all up to the line end. RFC 9112 §7.1.1 permits blanks around the"
        " marks; no server is known to send them.",
        ("extension/*",),
        rb"\n5;[ -\x7e\x80-\xff\t]*\r\n",
    ),
    "folded trailers": Rule(
        ALL,
        "accept",
        "Trailers are dropped, and only checked.",
        ("trailer/X: y*folded*",),
    ),
    "framing in trailers": Rule(
        (*CLIENT, *H11),
        "accept",
        "RFC 9110 §6.5.1: framing must not be in trailers.",
        ("trailer/Content-Length*",),
    ),
    # ── more than we read ─────────────────────────────────────────────────────────────
    "many interim responses": Rule(
        ALL, "accept", "Nobody needs ten of them.", ("interim/*… 2[25]0",)
    ),
    "a switch of protocols": Rule(
        CLIENT, "accept", "It takes 101 for the response.", ("interim/HTTP/1.1 101*",)
    ),
    "a large head": Rule(ALL, "accept", "They have no limit.", ("large/many*",)),
    "a large head, for h11": Rule(
        H11,
        "accept",
        "It limits only what it has not read yet.",
        (
            "large/1* headers",
            "large/a longer line",
            "large/a long name",
            "large/*reason",
        ),
    ),
    "a large body": Rule(
        ALL, "accept", "The limit is the caller's, not theirs.", ("large/*the limit",)
    ),
    # ── what they refuse ──────────────────────────────────────────────────────────────
    "bytes afterwards": Rule(
        AIOHTTP,
        "refuse",
        "Whether they arrive together with the response is chance. So the response"
        " counts, and the connection is not used again.",
        ("afterwards/*", "no body but sent/*", "length/[04]", "length/00"),
    ),
    "folded lengths": Rule(
        AIOHTTP,
        "refuse",
        "RFC 9112 §5.2: a fold is a blank, and a blank after the number is none of it.",
        ("fold/Content-Length: 5*",),
    ),
    "many or long trailers": Rule(
        (*CLIENT, *AIOHTTP),
        "refuse",
        "They are dropped; the limit is that of all bytes on the wire.",
        ("trailer/*… 7*",),
    ),
    "interim responses that end the connection": Rule(
        AIOHTTP,
        "refuse",
        "RFC 9110 §15.2: the final response follows. What it says counts.",
        ("interim/HTTP/1.0 100*", "interim/*Connection: close*"),
    ),
    "interim responses with a body": Rule(
        (*CLIENT, *AIOHTTP),
        "refuse",
        "RFC 9110 §15.2: they have none, whatever they say.",
        ("interim/HTTP/1.1 10[34]*Transfer*", "interim/HTTP/1.1 104*Length*"),
    ),
    "chunks where there is no body": Rule(
        CLIENT,
        "refuse",
        "RFC 9112 §6.3: 204 and 304 end with their head.",
        ("no body*/GET*Transfer*",),
    ),
    "zeros before a number": Rule(
        H11,
        "refuse",
        "h11 allows 20 digits, we any number that is not too large.",
        ("length/000*", "chunks/000*"),
    ),
    "a blank before an extension": Rule(
        H11,
        "refuse",
        "We allow blanks after a size because of servers that pad it.",
        ("extension/ ;a",),
    ),
    "codings that do not count": Rule(
        H11,
        "refuse",
        "A coding in a trailer or in an interim response has no meaning.",
        ("trailer/Transfer-Encoding: x*", "interim/*Transfer-Encoding: x*"),
    ),
    # ── what they read differently ────────────────────────────────────────────────────
    "early hints": Rule(
        CLIENT,
        "status",
        "http.client skips 100 alone, and takes others for the response.",
        ("interim/*",),
    ),
    "codings with a blank": Rule(
        (*CLIENT, *AIOHTTP),
        "body",
        "RFC 9110 §5.5: blanks around a value are no part of it.",
        ("coding/*chunked*", "fold/Transfer-Encoding:*"),
    ),
    "blanks around values": Rule(
        CLIENT,
        "headers",
        "RFC 9110 §5.5: they are no part of it.",
        ("header/X: a*", "length/*5*", "coding/*chunked*"),
        rb"[ \t]\r\n",
    ),
    "folds": Rule(
        ALL,
        "headers",
        "RFC 9112 §5.2: blanks replace the fold; we use one.",
        ("fold/*",),
    ),
    "lower case": Rule(
        H11, "headers", "h11 lowers codings; we leave values alone.", ("coding/C*",)
    ),
    "the connection after bytes": Rule(
        (*CLIENT, *AIOHTTP),
        "reuse",
        "They do not tell of bytes after the response, or take them for another.",
        ("afterwards/*", "no body but sent/*", "length/[04]", "length/00"),
    ),
    "the connection after codings": Rule(
        (*CLIENT, *AIOHTTP),
        "reuse",
        "They did not see that the body is chunked.",
        ("coding/*chunked*", "fold/Transfer-Encoding:*"),
    ),
    "the connection after the end": Rule(
        H11,
        "reuse",
        "The connection has ended with the body; h11 leaves that to its user.",
        (
            "cut/*",
            "length line/*",
            "coding line/*",
            "no body*205 Reset",
            "fold/* Content-Length: 3",
            "line end/*x85*",
        ),
    ),
    "the connection after HEAD": Rule(
        AIOHTTP,
        "reuse",
        "aiohttp takes a missing length for a body up to the end.",
        ("no body/HEAD HTTP/1.1 200 OK",),
    ),
    "words like close": Rule(
        (*H11, *AIOHTTP),
        "reuse",
        "We end the connection at any word with close in it: that is always safe.",
        ("connection 1.1/*close[d;]*", "connection 1.1/*not-close"),
    ),
    "close beside keep-alive": Rule(
        (*CLIENT, *AIOHTTP),
        "reuse",
        "Where both are said, close is safe.",
        ("connection 1.?/*close*",),
        rb"Connection: (?:keep-alive|close|x)[,\r]",
    ),
    "other ways to say keep-alive": Rule(
        (*CLIENT, *AIOHTTP),
        "reuse",
        "Keep-Alive and Proxy-Connection are not standard; we speak to no proxy.",
        ("connection 1.0/Keep-Alive*", "connection 1.?/Proxy-Connection*"),
    ),
    "keep-alive of HTTP/1.0": Rule(
        H11,
        "reuse",
        "h11 never keeps such a connection; ApacheBench and old servers do.",
        ("connection 1.0/*eep-?live",),
    ),
}


def differences(ours: Outcome, theirs: Opinion) -> Iterator[str]:
    if not isinstance(ours, Read) or not isinstance(theirs, Read):
        if isinstance(theirs, Read):
            yield "accept"
        elif isinstance(ours, Read):
            yield "refuse"
    elif ours.status != theirs.status:
        yield "status"
    else:
        if ours.body != theirs.body:
            yield "body"
        if lowered(ours) != lowered(theirs):
            yield "headers"
        if ours.reusable != theirs.reusable:
            yield "reuse"


def lowered(response: Read) -> list[tuple[str, str]]:
    return [(name.lower(), value) for name, value in response.headers]


def test_there_are_many_cases_and_each_has_a_name_of_its_own() -> None:
    assert len(CASES) >= 300
    assert max(Counter(case.name for case in CASES).values()) == 1


def test_every_difference_from_other_readers_has_an_explanation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As in production: in Python's development mode, aiohttp is stricter.
    monkeypatch.setattr("aiohttp._http_parser.DEBUG", False)
    used: Counter[tuple[str, str]] = Counter()
    unexplained = []
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        for case in CASES:
            ours = read(case.data, to_head=case.method == "HEAD", limit=LIMIT)
            opinions = {
                "http.client": by_http_client(case),
                "h11": by_h11(case),
                "aiohttp": by_aiohttp(case, loop),
            }
            for who, theirs in opinions.items():
                for what in differences(ours, theirs):
                    found = [
                        (name, who)
                        for name, rule in RULES.items()
                        if rule.explains(case, who, what)
                    ]
                    used.update(found)
                    if not found:
                        unexplained.append(f"{who} {what}: {case.name}")
    unused = [
        f"{name} ({who})"
        for name, rule in RULES.items()
        for who in rule.who
        if (name, who) not in used
    ]
    assert unexplained == []
    assert unused == []
