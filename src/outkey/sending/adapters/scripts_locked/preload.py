"""The modules that a script may import, loaded and used once.

A locked process can open no file.

Lists and warm-up calls only. This is not a boundary:
a module that is missing here is an ImportError in a script.
"""

import codecs
import datetime as dt
import email.utils
import hashlib
import hmac
import importlib
import importlib.util
import sys
import time
import urllib.parse
import uuid
import zoneinfo
from collections.abc import Iterable

_MODULES = """
base64 binascii bisect calendar collections collections.abc contextlib copy dataclasses
datetime decimal email.utils enum fractions functools hashlib heapq hmac html itertools
json math numbers operator random re secrets string struct textwrap time types typing
unicodedata urllib.parse uuid zlib zoneinfo
"""
_CRYPTOGRAPHY = """
exceptions fernet x509 hazmat.primitives.asymmetric.ec
hazmat.primitives.asymmetric.ed25519 hazmat.primitives.asymmetric.padding
hazmat.primitives.asymmetric.rsa hazmat.primitives.asymmetric.utils
hazmat.primitives.ciphers.aead hazmat.primitives.cmac hazmat.primitives.constant_time
hazmat.primitives.hashes hazmat.primitives.hmac hazmat.primitives.kdf.hkdf
hazmat.primitives.padding hazmat.primitives.serialization
"""
# C code imports through its caller, so that a script's strptime needs these as well.
_FOR_C = "_strptime _pylong"
ROOTS = frozenset(
    n.partition(".")[0] for n in f"{_MODULES} {_FOR_C} cryptography".split()
)
# Modules and files that those load at their first use.
_LOADED_LAZILY = (
    "encodings.idna encodings.punycode stringprep email._parseaddr importlib.resources"
)
_CODECS = "ascii cp1252 idna iso8859_15 latin-1 punycode utf-8 utf-8-sig utf-16 utf-32"
# The others are not found in a script.
# All 600 would take longer than the rest together.
_ZONES = """
UTC GMT Africa/Cairo Africa/Casablanca Africa/Johannesburg Africa/Lagos Africa/Nairobi
America/Anchorage America/Argentina/Buenos_Aires America/Bogota America/Caracas
America/Chicago America/Denver America/Halifax America/Lima America/Los_Angeles
America/Mexico_City America/New_York America/Phoenix America/Santiago America/Sao_Paulo
America/St_Johns America/Toronto America/Vancouver Asia/Bangkok Asia/Dhaka Asia/Dubai
Asia/Hong_Kong Asia/Jakarta Asia/Jerusalem Asia/Karachi Asia/Kolkata Asia/Kuala_Lumpur
Asia/Manila Asia/Riyadh Asia/Seoul Asia/Shanghai Asia/Singapore Asia/Taipei
Asia/Tashkent Asia/Tehran Asia/Tokyo Atlantic/Reykjavik Australia/Adelaide
Australia/Brisbane Australia/Melbourne Australia/Perth Australia/Sydney Europe/Amsterdam
Europe/Athens Europe/Belgrade Europe/Berlin Europe/Brussels Europe/Bucharest
Europe/Budapest Europe/Copenhagen Europe/Dublin Europe/Helsinki Europe/Istanbul
Europe/Kyiv Europe/Lisbon Europe/London Europe/Luxembourg Europe/Madrid Europe/Moscow
Europe/Oslo Europe/Paris Europe/Prague Europe/Riga Europe/Rome Europe/Sofia
Europe/Stockholm Europe/Tallinn Europe/Vienna Europe/Vilnius Europe/Warsaw Europe/Zurich
Pacific/Auckland Pacific/Honolulu
"""
_zones: list[object] = []  # zoneinfo itself caches only eight


def preload(folders: Iterable[str]) -> None:
    """Import everything; search these folders for cryptography and tzdata only."""
    for name in f"{_MODULES} {_LOADED_LAZILY} {_FOR_C}".split():
        if importlib.util.find_spec(name):  # not every version of Python has all
            importlib.import_module(name)
    _warm()
    sys.path.extend(folders)
    _warm_zones()
    _warm_cryptography()
    # From here on nothing is searched: a script's import finds what is loaded,
    # or fails.
    sys.path.clear()
    sys.meta_path.clear()
    sys.path_hooks.clear()
    sys.path_importer_cache.clear()


def _warm() -> None:
    for algorithm in sorted(hashlib.algorithms_guaranteed):
        hashlib.new(algorithm, usedforsecurity=False)
        if not algorithm.startswith("shake"):
            hmac.new(b"key", b"text", algorithm).hexdigest()
    hashlib.pbkdf2_hmac("sha256", b"key", b"salt", 1)
    for codec in _CODECS.split():
        codecs.lookup(codec)  # "a".encode() has short cuts that load nothing
    time.tzset()
    time.strptime("2026-01-01", "%Y-%m-%d")
    dt.datetime.now().astimezone().strftime("%c %Z")
    email.utils.parsedate_to_datetime(email.utils.formatdate(usegmt=True))
    urllib.parse.urlsplit("https://a.example/?b=c").geturl()
    str(uuid.uuid4())


def _warm_zones() -> None:
    for key in _ZONES.split():
        try:
            _zones.append(zoneinfo.ZoneInfo(key))
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            continue  # a system without time zone data, and without the tzdata package


def _warm_cryptography() -> None:
    try:
        for name in _CRYPTOGRAPHY.split():
            importlib.import_module(f"cryptography.{name}")
    except ImportError:
        return  # not installed; scripts do without
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    serialization.load_pem_private_key(pem, None)
    key.sign(b"text", ec.ECDSA(hashes.SHA256()))
