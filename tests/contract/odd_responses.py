"""Malformed and odd responses, made from tables: one table for each part of a response.

A case is named `table/label`; the label is the part of the response that is odd.
"""

from collections.abc import Iterator
from typing import NamedTuple

OK = "HTTP/1.1 200 OK"
CHUNKED = "Transfer-Encoding: chunked"
CHUNKED_HELLO = "5\r\nhello\r\n0\r\n\r\n"


class Case(NamedTuple):
    """The bytes that a server sends before it closes the connection."""

    name: str
    data: bytes
    method: str = "GET"


def _response(*lines: str, status: str = OK, body: str = "") -> bytes:
    text = "".join(f"{line}\r\n" for line in (status, *lines)) + "\r\n" + body
    return text.encode("latin-1")


def _label(text: str) -> str:
    shown = ascii(text)[1:-1]
    return shown if len(shown) <= 60 else f"{shown[:40]}… {len(text)}"


STATUS_LINES = [
    "HTTP/1.1 200 OK",
    "HTTP/1.0 200 OK",
    "HTTP/1.1 200",
    "HTTP/1.1 200 ",
    "HTTP/1.1 200  two blanks",
    "HTTP/1.1 200 OK ",
    "HTTP/1.1 200 a\tb",
    "HTTP/1.1 200 \xe4",
    "HTTP/1.1 200 a\0b",
    "HTTP/1.1 200 a\x01b",
    "HTTP/1.1 200 a\x7fb",
    "HTTP/1.1 200 a\rb",
    "HTTP/1.1 200 OK\r",
    "HTTP/1.1 599 Last class",
    "HTTP/1.1 600 Beyond",
    "HTTP/1.1 999 Far beyond",
    "HTTP/1.1 099 Below",
    "HTTP/1.1 000 Zero",
    "HTTP/1.1 20 Short",
    "HTTP/1.1 2 Shorter",
    "HTTP/1.1 2000 Long",
    "HTTP/1.1 0200 Zero before",
    "HTTP/1.1 +20 Sign",
    "HTTP/1.1 -20 Sign",
    "HTTP/1.1 2_0 Underscore",
    "HTTP/1.1 2x0 Letter",
    "HTTP/1.1 20\xb2 Digit",
    "HTTP/1.1 200OK",
    "HTTP/1.1 200\tOK",
    "HTTP/1.1  200 OK",
    "HTTP/1.1\t200 OK",
    "HTTP/1.1\x0b200 OK",
    "HTTP/1.1200 OK",
    "HTTP/1.1",
    "HTTP/1.1 ",
    "HTTP/0.9 200 OK",
    "HTTP/1.2 200 OK",
    "HTTP/1.9 200 OK",
    "HTTP/2.0 200 OK",
    "HTTP/2 200 OK",
    "HTTP/1 200 OK",
    "HTTP/1. 200 OK",
    "HTTP/.1 200 OK",
    "HTTP/1.10 200 OK",
    "HTTP/1.01 200 OK",
    "HTTP/01.1 200 OK",
    "HTTP/11 200 OK",
    "HTTP/1,1 200 OK",
    "HTTP/x.y 200 OK",
    "HTTP 200 OK",
    "HTTP/ 200 OK",
    "http/1.1 200 OK",
    "Http/1.1 200 OK",
    "HTTPS/1.1 200 OK",
    "XHTTP/1.1 200 OK",
    " HTTP/1.1 200 OK",
    "\tHTTP/1.1 200 OK",
    "\0HTTP/1.1 200 OK",
    "\xef\xbb\xbfHTTP/1.1 200 OK",
    "\r\nHTTP/1.1 200 OK",
    "\nHTTP/1.1 200 OK",
    "\r\n\r\nHTTP/1.1 200 OK",
    "RTSP/1.0 200 OK",
    "ICE/1.0 200 OK",
    "ICY 200 OK",
    "SIP/2.0 200 OK",
    "SSH-2.0-OpenSSH_9.2",
    "220 mail ready",
    "200 OK",
    "GET / HTTP/1.1",
    "<html>hello</html>",
    "{}",
    "",
]

HEADER_LINES = [
    "X: a",
    "X:a",
    "X:  a",
    "X:\ta",
    "X: a ",
    "X: a\t ",
    "X:",
    "X: ",
    "X: a b",
    "X: a  b",
    "X: a\tb",
    "X: a:b",
    "X: :",
    "X: \xe4",
    "X: \xff",
    'X: "a',
    "X: a\x00b",
    "X: a\x01b",
    "X: a\x08b",
    "X: a\x0bb",
    "X: a\x0cb",
    "X: a\x1bb",
    "X: a\x1fb",
    "X: a\x7fb",
    "X: a\x85b",
    "X: a\xa0",
    "X: \x0ba",
    "X: a\x0b",
    "X: a\x00",
    "X: a\x1c",
    "X : a",
    "X\t: a",
    "X\x0b: a",
    "X\xa0: a",
    "X",
    "X a",
    "X a: b",
    "X\ta: b",
    ": a",
    ":",
    " : a",
    "X:: a",
    "X\0: a",
    "X\x01: a",
    "X\x7f: a",
    "X\xe4: a",
    "X(): a",
    "X,Y: a",
    "X/Y: a",
    "X;Y: a",
    "X=Y: a",
    "X@Y: a",
    "X[0]: a",
    "X{0}: a",
    "X?: a",
    'X"Y": a',
    "X<Y>: a",
    "X\\Y: a",
    "!#$%&'*+-.^_`|~: a",
    "1: a",
    "-: a",
    "_X_Y: a",
    "X: a\r\nX: b",
    "X: a\r\nx: b",
    "From nobody: a",
    "From: a",
    "HTTP/1.1 200 OK",
    "Set-Cookie: a=b\r\nSet-Cookie: c=d",
]

LINE_ENDS = [
    "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\n\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\nhello",
    "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nX: a\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nX: a\n\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\rContent-Length: 5\r\rhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\rhello",
    "HTTP/1.1 200 OK\r\nX: a\rContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nX: a\r\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nX: a\r \r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\n\rX: a\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nX\r: a\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nX\n: a\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nX:\ra\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nX:\na\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\rhello",
    "HTTP/1.1 200 OK\n\rContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nX: a\x0bContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nX: a\x85Content-Length: 5\r\n\r\nhello",
]

FOLDS = [
    "X: a\r\n b",
    "X: a\r\n\tb",
    "X: a\r\n   b",
    "X: a \r\n b",
    "X: a\r\n b\r\n c",
    "X: a\r\n \r\n b",
    "X: a\r\n ",
    "X: a\r\n\t",
    "X:\r\n a",
    "X: \r\n a",
    "X:\r\n ",
    "X: a\n b",
    "X: a\r b",
    "X: a\r\n \0",
    "X: a\r\n Y: b",
    "X: a\r\n Content-Length: 3",
    " X: a",
    "\tX: a",
    " \r\nX: a",
    "Content-Length:\r\n 5",
    "Content-Length: 5\r\n ",
    "Content-Length: 1\r\n 5",
    "Transfer-Encoding:\r\n chunked",
    "Transfer-Encoding: chunk\r\n ed",
    "Connection:\r\n close",
]

LENGTHS = [
    "5",
    "05",
    "0000000000000000000000000005",
    "5 ",
    " 5",
    "\t5\t",
    "4",
    "6",
    "0",
    "00",
    "",
    " ",
    "+5",
    "-5",
    "-0",
    "5.",
    "5.0",
    ".5",
    "5e0",
    "0x5",
    "0o5",
    "0b1",
    "5_0",
    "5x",
    "x5",
    "5 5",
    "5\x0b",
    "\x0b5",
    "5\xa0",
    "\xb2",
    "\xb5",
    "5,",
    ",5",
    "5,5",
    "5, 5",
    "5, 6",
    "5;5",
    "5; a=b",
    '"5"',
    "(5)",
    "five",
    "1e1",
    "4294967301",
    "4294967296",
    "9223372036854775807",
    "9223372036854775813",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551621",
    "99999999999999999999999",
]

LENGTH_LINES = [
    "Content-Length: 5\r\nContent-Length: 5",
    "Content-Length: 5\r\nContent-Length: 05",
    "Content-Length: 5\r\nContent-Length: 6",
    "Content-Length: 6\r\nContent-Length: 5",
    "Content-Length: 5\r\ncontent-length: 0",
    "Content-Length: 5\r\nContent-Length:",
    "Content-Length: 5\r\nX: y\r\nContent-Length: 5",
    "CONTENT-LENGTH: 5",
    "Content-Length:5",
    "Content-Length : 5",
    "Content-Length\t: 5",
    " Content-Length: 5",
    "Content_Length: 5",
    "Content-Lengt: 5",
    "Content-Length5: 5",
    "X-Content-Length: 5",
    "Content-Length: 5\r\nTransfer-Encoding: identity",
    "Transfer-Encoding: identity\r\nContent-Length: 5",
]

CODINGS = [
    "chunked",
    "Chunked",
    "CHUNKED",
    " chunked ",
    "chunked\t",
    "chunked,",
    ",chunked",
    ", chunked",
    "chunked, ",
    "chunked;",
    "chunked; a=b",
    "chunked chunked",
    "chunked, chunked",
    "chunked,chunked",
    "identity",
    "identity, chunked",
    "chunked, identity",
    "gzip",
    "gzip, chunked",
    "gzip,chunked",
    "gzip chunked",
    "chunked, gzip",
    "x-chunked",
    "xchunked",
    "chunkedx",
    "chunke",
    "chun ked",
    "chunked\x0b",
    "\x0bchunked",
    "\xa0chunked",
    "chunked\0",
    '"chunked"',
    "trailers",
    "",
    " ",
]

CODING_LINES = [
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding:",
    "Transfer-Encoding: chunked\r\nContent-Length: 15",
    "Content-Length: 15\r\nTransfer-Encoding: chunked",
    "Content-Length: 15\r\nTransfer-Encoding: x",
    "Transfer-Encoding : chunked",
    " Transfer-Encoding: chunked",
    "Transfer_Encoding: chunked",
    "Transfer-Encodin: chunked",
    "TE: chunked",
    "transfer-encoding: chunked",
]

CHUNKS = [
    "5\r\nhello\r\n0\r\n\r\n",
    "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    "05\r\nhello\r\n0\r\n\r\n",
    "0000000000000000000005\r\nhello\r\n0\r\n\r\n",
    "5\r\nhello\r\n000\r\n\r\n",
    "0\r\n\r\n",
    "a\r\nhello\r\n\r\n\r\r\n0\r\n\r\n",
    "A\r\nhello\r\n\r\n\r\r\n0\r\n\r\n",
    "5 \r\nhello\r\n0\r\n\r\n",
    "5   \r\nhello\r\n0  \r\n\r\n",
    "5\t\r\nhello\r\n0\r\n\r\n",
    " 5\r\nhello\r\n0\r\n\r\n",
    "\t5\r\nhello\r\n0\r\n\r\n",
    "+5\r\nhello\r\n0\r\n\r\n",
    "-5\r\nhello\r\n0\r\n\r\n",
    "-0\r\n\r\n",
    "-1\r\nhello\r\n0\r\n\r\n",
    "0x5\r\nhello\r\n0\r\n\r\n",
    "5h\r\nhello\r\n0\r\n\r\n",
    "5_0\r\nhello\r\n0\r\n\r\n",
    "0_5\r\nhello\r\n0\r\n\r\n",
    "5,\r\nhello\r\n0\r\n\r\n",
    "5\0\r\nhello\r\n0\r\n\r\n",
    "5\x0b\r\nhello\r\n0\r\n\r\n",
    "\r\nhello\r\n0\r\n\r\n",
    "x\r\nhello\r\n0\r\n\r\n",
    "g\r\nhello\r\n0\r\n\r\n",
    "\xb2\r\nhello\r\n0\r\n\r\n",
    "5\r\nhello\r\n\r\n0\r\n\r\n",
    "100000005\r\nhello\r\n0\r\n\r\n",
    "7fffffffffffffff\r\nhello\r\n0\r\n\r\n",
    "ffffffffffffffff\r\nhello\r\n0\r\n\r\n",
    "10000000000000000\r\nhello\r\n0\r\n\r\n",
    "10000000000000005\r\nhello\r\n0\r\n\r\n",
    "fffffffffffffffffffffffff\r\nhello\r\n0\r\n\r\n",
    "5\nhello\r\n0\r\n\r\n",
    "5\rhello\r\n0\r\n\r\n",
    "5\r\r\nhello\r\n0\r\n\r\n",
    "5\r\nhello\n0\r\n\r\n",
    "5\r\nhello\r0\r\n\r\n",
    "5\r\nhello0\r\n\r\n",
    "5\r\nhelloXX0\r\n\r\n",
    "5\r\nhello\r\r\n0\r\n\r\n",
    "5\r\nhello \r\n0\r\n\r\n",
    "5\r\nhello\r\n0\n\r\n",
    "5\r\nhello\r\n0\r\n\n",
    "5\r\nhello\r\n0\n\n",
    "5\r\nhello\r\n0\r\n\rX",
    "6\r\nhello\r\n0\r\n\r\n",
    "4\r\nhello\r\n0\r\n\r\n",
    "5\r\nhello\r\n0\r\n",
    "5\r\nhello\r\n0",
    "5\r\nhello\r\n",
    "5\r\nhello",
    "5\r\nhel",
    "5\r\n",
    "5",
    "",
]

EXTENSIONS = [
    ";a",
    ";a=b",
    ";a=b;c=d",
    ";a;b",
    ';a="b"',
    ';a="b;c"',
    ';a="b\\"c"',
    ';a="b\\\\"',
    ';a=""',
    ';a="b',
    ';a=b"',
    ';a="b\\',
    ';a="b"c',
    ";",
    ";;",
    ";=",
    ";=b",
    ";a=",
    ";a=b=c",
    "; a",
    " ;a",
    ";a =b",
    ";a= b",
    "; a = b",
    ";a ",
    ";a\t",
    ";\0",
    ";a\0",
    ";a=\0",
    ";a\x01",
    ";a\x7f",
    ";\xe4",
    ';a="\xe4"',
    ';a="\0"',
    ";a\rb",
    ";a\nb",
    ";a=b\nc",
    ';a="b\nc"',
    ";a(b)",
    ",a",
    " a",
    ";" + "a" * 300,
]

TRAILERS = [
    "X: y\r\n",
    "X:\r\n",
    "X: y\r\nZ: w\r\n",
    "X : y\r\n",
    "X\r\n",
    ": y\r\n",
    " X: y\r\n",
    "X: y\r\n folded\r\n",
    "X: a\0b\r\n",
    "X: a\x01b\r\n",
    "X\xe4: y\r\n",
    "X: \xe4\r\n",
    "X: y\n",
    "X: a\rb\r\n",
    "X: a\nb: c\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: x\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: x\r\n",
    "Connection: close\r\n",
    "Connection: keep-alive\r\n",
    "Connection: upgrade\r\nUpgrade: x\r\n",
    "HTTP/1.1 200 OK\r\n",
    "Set-Cookie: a=b\r\n",
    "X: y\r\n" * 120,
    "X: " + "y" * 70_000 + "\r\n",
]

INTERIM = [
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 102 Processing\r\n\r\n",
    "HTTP/1.1 103 Hints\r\nLink: <a>\r\n\r\n",
    "HTTP/1.1 104 Upload\r\n\r\n",
    "HTTP/1.1 110 Stale\r\n\r\n",
    "HTTP/1.1 199 Last\r\n\r\n",
    "HTTP/1.0 100 Continue\r\n\r\n",
    "HTTP/1.1 100\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\n",
    "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 103 Hints\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 104 Upload\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 103 Hints\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 104 Upload\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HTTP/1.1 100 Continue\r\nTransfer-Encoding: x\r\n\r\n",
    "HTTP/1.1 103 Hints\r\nConnection: close\r\n\r\n",
    "HTTP/1.1 100 Continue\r\nX : y\r\n\r\n",
    "HTTP/1.1 100 Continue\r\nX: a\0b\r\n\r\n",
    "HTTP/1.1 100 Continue\n\n",
    "HTTP/1.1 100 Continue\r\n\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n",
    "HTTP/1.1 101 Switch\r\n\r\n",
    "HTTP/1.1 101 Switch\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\n" * 9,
    "HTTP/1.1 100 Continue\r\n\r\n" * 10,
    "HTTP/1.1 103 Hints\r\n\r\n" * 9,
    "HTTP/1.1 103 Hints\r\n\r\n" * 10,
]

WITHOUT_BODY = [
    ("HEAD", OK, ()),
    ("HEAD", OK, ("Content-Length: 5",)),
    ("HEAD", OK, ("Content-Length: 5000",)),
    ("HEAD", OK, (CHUNKED,)),
    ("HEAD", OK, ("Transfer-Encoding: gzip, chunked",)),
    ("HEAD", OK, ("Content-Length: 5", CHUNKED)),
    ("HEAD", OK, ("Connection: close",)),
    ("HEAD", "HTTP/1.0 200 OK", ("Content-Length: 5",)),
    ("HEAD", "HTTP/1.1 404 No", ("Content-Length: 5",)),
    ("HEAD", "HTTP/1.1 204 No", ()),
    ("GET", "HTTP/1.1 204 No", ()),
    ("GET", "HTTP/1.1 204 No", ("Content-Length: 0",)),
    ("GET", "HTTP/1.1 204 No", ("Content-Length: 5",)),
    ("GET", "HTTP/1.1 204 No", (CHUNKED,)),
    ("GET", "HTTP/1.1 204 No", ("Connection: close",)),
    ("GET", "HTTP/1.0 204 No", ()),
    ("GET", "HTTP/1.1 304 Same", ()),
    ("GET", "HTTP/1.1 304 Same", ("Content-Length: 5",)),
    ("GET", "HTTP/1.1 304 Same", (CHUNKED,)),
    ("GET", "HTTP/1.1 205 Reset", ("Content-Length: 0",)),
    ("GET", "HTTP/1.1 205 Reset", ()),
]

CONNECTIONS = [
    (version, lines)
    for version in ("1.1", "1.0")
    for lines in (
        "Connection: close",
        "Connection: Close",
        "Connection: keep-alive",
        "Connection: Keep-Alive",
        "Connection: keep-alive, close",
        "Connection: close, keep-alive",
        "Connection: x, close",
        "Connection: close\r\nConnection: x",
        "Connection: x\r\nConnection: close",
        "Connection: keep-alive\r\nConnection: close",
        "Connection: closed",
        "Connection: not-close",
        "Connection: upgrade",
        "Connection: upgrade\r\nUpgrade: h2c",
        "Connection:",
        "Connection: ,",
        "Connection: close;a=b",
        "Keep-Alive: timeout=5",
        "Proxy-Connection: keep-alive",
        "Proxy-Connection: close",
        "X: y",
    )
]

CUTS = [
    "",
    "H",
    "HTTP/1.1",
    "HTTP/1.1 200 OK",
    "HTTP/1.1 200 OK\r",
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.1 200 OK\r\nX",
    "HTTP/1.1 200 OK\r\nX: y",
    "HTTP/1.1 200 OK\r\nX: y\r\n",
    "HTTP/1.1 200 OK\r\nX: y\r\n\r",
    "HTTP/1.1 200 OK\r\nContent-Length: 5",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
    "HTTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\nhello",
    "HTTP/1.0 200 OK\r\n\r\nhello",
    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
]

AFTERWARDS = [
    (first, extra)
    for first in (
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 204 No\r\n\r\n",
        f"HTTP/1.1 200 OK\r\n{CHUNKED}\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    )
    for extra in (
        "x",
        "\r\n",
        "\n",
        "\0",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew",
    )
]

LARGE = {
    "99 headers": _response(*["X: y"] * 98, "Content-Length: 5", body="hello"),
    "100 headers": _response(*["X: y"] * 99, "Content-Length: 5", body="hello"),
    "150 headers": _response(*["X: y"] * 149, "Content-Length: 5", body="hello"),
    "a long line": _response("X: " + "y" * 60_000, "Content-Length: 5", body="hello"),
    "a longer line": _response("X: " + "y" * 66_000, "Content-Length: 5", body="hello"),
    "a long name": _response("X" * 66_000 + ": y", "Content-Length: 5", body="hello"),
    "a long reason": _response(
        "Content-Length: 5", status=f"{OK} {'y' * 66_000}", body="hello"
    ),
    "many long lines": _response(
        *["X: " + "y" * 60_000] * 40, "Content-Length: 5", body="hello"
    ),
    "a length above the limit": _response("Content-Length: 4097", body="y" * 4097),
    "chunks above the limit": _response(
        CHUNKED, body="1001\r\n" + "y" * 4097 + "\r\n0\r\n\r\n"
    ),
    "a body above the limit": _response(body="y" * 4097),
    "a body at the limit": _response("Content-Length: 4096", body="y" * 4096),
}


def _head_cases() -> Iterator[Case]:
    for line in STATUS_LINES:
        data = _response("Content-Length: 5", status=line, body="hello")
        yield Case(f"status/{_label(line)}", data)
    for line in HEADER_LINES:
        data = _response(line, "Content-Length: 5", body="hello")
        yield Case(f"header/{_label(line)}", data)
    for text in LINE_ENDS:
        yield Case(f"line end/{_label(text)}", text.encode("latin-1"))
    for line in FOLDS:
        framing = [] if "-Length" in line or "Transfer-" in line else [5]
        lines = [f"Content-Length: {length}" for length in framing]
        body = CHUNKED_HELLO if "Transfer-" in line else "hello"
        yield Case(f"fold/{_label(line)}", _response(line, *lines, body=body))


def _framing_cases() -> Iterator[Case]:
    for length in LENGTHS:
        data = _response(f"Content-Length: {length}", body="hello")
        yield Case(f"length/{_label(length)}", data)
    for line in LENGTH_LINES:
        yield Case(f"length line/{_label(line)}", _response(line, body="hello"))
    for coding in CODINGS:
        data = _response(f"Transfer-Encoding: {coding}", body=CHUNKED_HELLO)
        yield Case(f"coding/{_label(coding)}", data)
    for line in CODING_LINES:
        yield Case(f"coding line/{_label(line)}", _response(line, body=CHUNKED_HELLO))
    old = _response(CHUNKED, status="HTTP/1.0 200 OK", body=CHUNKED_HELLO)
    yield Case("coding line/HTTP 1.0", old)
    for method, status, lines in WITHOUT_BODY:
        label = _label(" ".join([method, status, *lines]))
        yield Case(f"no body/{label}", _response(*lines, status=status), method)
        sent = _response(*lines, status=status, body="hello")
        yield Case(f"no body but sent/{label}", sent, method)


def _chunked_cases() -> Iterator[Case]:
    for chunks in CHUNKS:
        yield Case(f"chunks/{_label(chunks)}", _response(CHUNKED, body=chunks))
    for extension in EXTENSIONS:
        body = f"5{extension}\r\nhello\r\n0\r\n\r\n"
        yield Case(f"extension/{_label(extension)}", _response(CHUNKED, body=body))
    for trailers in TRAILERS:
        body = f"5\r\nhello\r\n0\r\n{trailers}\r\n"
        yield Case(f"trailer/{_label(trailers)}", _response(CHUNKED, body=body))


def _connection_cases() -> Iterator[Case]:
    for text in INTERIM:
        final = _response("Content-Length: 5", body="hello")
        yield Case(f"interim/{_label(text)}", text.encode() + final)
    for version, line in CONNECTIONS:
        status = f"HTTP/{version} 200 OK"
        data = _response(line, "Content-Length: 5", status=status, body="hello")
        yield Case(f"connection {version}/{_label(line)}", data)
    for text in CUTS:
        yield Case(f"cut/{_label(text)}", text.encode())
    for first, extra in AFTERWARDS:
        name = f"{_label(extra)} after {_label(first)}"
        yield Case(f"afterwards/{name}", (first + extra).encode())
    for label, data in LARGE.items():
        yield Case(f"large/{label}", data)


CASES = [
    *_head_cases(),
    *_framing_cases(),
    *_chunked_cases(),
    *_connection_cases(),
]
