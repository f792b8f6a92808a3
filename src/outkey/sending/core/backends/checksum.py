"""CRC32C (RFC 3720 §12.1), which Python's library does not have."""

from functools import cache

_POLYNOMIAL = 0x82F63B78  # in the order of reflected bits
_ONES = 0xFFFFFFFF


def crc32c(data: bytes) -> int:
    """Return the checksum of bytes."""
    table = _table()
    crc = _ONES
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ _ONES


@cache
def _table() -> tuple[int, ...]:
    """Return the remainder of each byte."""
    return tuple(map(_remainder, range(256)))


def _remainder(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte
