"""Character encodings of texts that an API sends."""

import codecs
import re

# Encodings of texts. Python has others too, which unpack archives or run escapes.
_TEXT_CODEC = re.compile(
    r"utf-(8|16|32)(-[bl]e)?|utf_16_[bl]e|utf_32_[bl]e|utf-8-sig|ascii|iso8859-\d{1,2}"
    r"|cp\d{3,5}|koi8-[rtu]|mac-\w+|shift_jis\w*|euc_\w+|gb2312|gbk|gb18030"
    r"|big5\w*|johab|iso2022_\w+|tis-620|hp-roman8|ptcp154|kz1048"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,39}")


def codec_of(charset: str) -> str | None:
    """Return Python's name of a character encoding, None if there is no such one."""
    if not _NAME.fullmatch(charset):
        return None
    try:
        name = codecs.lookup(charset).name
    except LookupError:
        return None
    return name if _TEXT_CODEC.fullmatch(name) else None
