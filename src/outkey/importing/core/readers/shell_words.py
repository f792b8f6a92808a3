"""Splitting pasted commands into words, as the shell they were written for would.

Nothing is executed or expanded: a variable becomes `{{NAME}}`, and the output of
another command `{{command}}`, which later steps recognize as something to enter.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum

MAX_COMMANDS = 20
_COMMAND_OUTPUT = "{{command}}"
# Possessive and bounded, as a text may have thousands of braces that are not closed.
_VARIABLE = re.compile(
    r"\$(?:\{([A-Za-z_]\w*+)[^}]{0,200}+\}|([A-Za-z_]\w*)|([0-9@*#?!]))"
)
_POWERSHELL_VARIABLE = re.compile(
    r"\$(?:\{(?:env:)?([A-Za-z_]\w*)\}|(?:env:)?([A-Za-z_]\w*))"
)
_CMD_VARIABLE = re.compile(r"%([A-Za-z_]\w*)%")
_END_OF_LINE = re.compile(r"[ \t]*\n")
_REDIRECTION = re.compile(r"[<>]+[&|]?\s*")
_IN_BRACKETS = re.compile(r"<[A-Za-z][\w .:-]{0,60}>")
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w{0,40})\1")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_PROMPT = re.compile(
    r"(?:PS )?(?:[A-Za-z]:\\[^>\n]*>|[\w.-]+@[\w.-]+[^$#%\n]{0,80}[$#%]"
    r"|[$%#>\u276f\u279c])\s+"
)
_QUOTES = {
    "'": "'",
    '"': '"',
    "\u2018": "'",
    "\u2019": "'",
    "\u201a": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u201e": '"',
}
_CLOSING = {"'": "'\u2018\u2019", '"': '"\u201c\u201d'}
_DASHES = "\u2012\u2013\u2014\u2015\u2212"
_ANSI_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
}
_ANSI_CODE = re.compile(
    r"u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|x([0-9A-Fa-f]{1,2})|([0-7]{1,3})"
)


class Dialect(StrEnum):
    """The shell that a command is written for."""

    POSIX = "posix"
    CMD = "cmd"
    POWERSHELL = "powershell"


@dataclass(slots=True)
class ShellCommand:
    """The words of one command, and whether something followed it that is not run."""

    words: list[str] = field(default_factory=list)
    is_piped: bool = False
    is_unclosed: bool = False  # the text ends inside of a quote


def dialect_of(text: str) -> Dialect:
    """Return the shell whose quoting a command uses."""
    if re.search(r"\^[ \t]*\n|\^\"|\^%\^", text):
        return Dialect.CMD
    is_powershell = re.search(
        r"`[ \t]*\n|\$env:\w|^\s*(?:PS [^\n]*> )?curl\.exe\b", text
    )
    if is_powershell:
        return Dialect.POWERSHELL
    if re.search(r"%[A-Z_]\w*%", text) and "'" not in text:
        return Dialect.CMD
    return Dialect.POSIX


def split_commands(text: str) -> list[ShellCommand]:
    """Return the commands of a pasted text; assignments and prompts are left out."""
    text = _without_prompts(_plain_spaces(text))
    dialect = dialect_of(text)
    if dialect is Dialect.CMD:
        commands = _split_cmd(text)
    else:
        commands = _Splitter(text, dialect).split()
    return [command for command in commands if command.words][:MAX_COMMANDS]


def _plain_spaces(text: str) -> str:
    """Return a text with ordinary spaces and line breaks, without invisible marks."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    characters = []
    for character in text:
        category = unicodedata.category(character)
        if category == "Zs":
            characters.append(" ")
        elif category != "Cf":
            characters.append(character)
    return "".join(characters)


def _without_prompts(text: str) -> str:
    """Remove the prompts that were copied along, also those of continued lines."""
    lines = text.split("\n")
    has_prompt = any(_prompt_before_curl(line) for line in lines)
    if not has_prompt:
        return text
    plain_lines = []
    for line in lines:
        end = _prompt_before_curl(line)
        if end:
            plain_lines.append(line[end:])
        elif line.startswith("> "):
            plain_lines.append(line[2:])
        else:
            plain_lines.append(line)
    return "\n".join(plain_lines)


def _prompt_before_curl(line: str) -> int:
    match = _PROMPT.match(line.lstrip())
    if match is None:
        return 0
    indent = len(line) - len(line.lstrip())
    rest = line.lstrip()[match.end() :]
    return indent + match.end() if rest.startswith("curl") else 0


class _Splitter:
    """Splits the text of a POSIX shell or of PowerShell."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text = text
        self._at = 0
        self._is_posix = dialect is Dialect.POSIX
        self._escape = "\\" if self._is_posix else "`"
        self._commands = [ShellCommand()]
        self._word: list[str] | None = None
        self._has_query = False  # whether the word has a question mark
        self._skips = False  # what follows a pipe, until the next command
        self._here_documents: list[str] = []

    def split(self) -> list[ShellCommand]:
        while self._at < len(self._text):
            self._step()
        self._end_word()
        for command in self._commands:
            while command.words and _ASSIGNMENT.fullmatch(command.words[0]):
                del command.words[0]
        return self._commands

    def _step(self) -> None:
        character = self._text[self._at]
        if character == self._escape:
            self._read_escape()
        elif character in _QUOTES:
            self._read_quoted(_QUOTES[character])
        elif character == "$":
            self._read_dollar()
        elif character == "`":
            self._skip_to("`")
            self._append(_COMMAND_OUTPUT)
        elif character in " \t\n;&|<>":
            self._read_operator(character)
        elif character in "()#" and self._word is None:
            self._skip_comment(character)
        else:
            self._append(character)
            self._at += 1

    def _read_operator(self, character: str) -> None:
        if character in "<>":
            self._read_redirection()
        elif character in ";&|":
            self._read_separator(character)
        else:
            self._at += 1
            self._end_word()
            if character == "\n":
                self._skip_here_documents()
                self._end_command()

    def _skip_comment(self, character: str) -> None:
        end = self._text.find("\n", self._at) if character == "#" else self._at + 1
        self._at = len(self._text) if end < 0 else end

    def _append(self, text: str) -> None:
        if self._word is None:
            self._word = []
            self._has_query = False
        self._word.append(text)
        self._has_query = self._has_query or text == "?"

    def _end_word(self) -> None:
        if self._word is not None and not self._skips:
            self._commands[-1].words.append(_straight_dashes("".join(self._word)))
        self._word = None

    def _end_command(self, *, skips: bool = False) -> None:
        self._end_word()
        if not skips:
            self._commands.append(ShellCommand())
        self._skips = skips

    def _read_escape(self) -> None:
        after = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if after == "\n":
            return
        trailing = _END_OF_LINE.match(self._text, self._at)
        if after in {" ", "\t"} and trailing:
            # A space behind the sign that continues a line comes from copying.
            self._at = trailing.end()
            return
        self._append(after)

    def _read_separator(self, character: str) -> None:
        is_double = self._text[self._at : self._at + 2] in {"&&", "||", ";;", "|&"}
        self._at += 2 if is_double else 1
        if character == "|" and not is_double:
            self._end_word()
            self._commands[-1].is_piped = True
            self._end_command(skips=True)
        elif character == "&" and not is_double and self._is_in_url():
            # An unquoted URL with parameters: a shell would end the command here.
            self._append("&")
        else:
            self._end_command()

    def _is_in_url(self) -> bool:
        after = self._text[self._at : self._at + 1]
        has_name = bool(after) and after not in " \t\n&"
        return has_name and self._has_query

    def _read_redirection(self) -> None:
        """Skip a redirection and its file; text in angle brackets is a placeholder."""
        if placeholder := _IN_BRACKETS.match(self._text, self._at):
            self._append(placeholder[0])
            self._at = placeholder.end()
            return
        if here := _HERE_DOCUMENT.match(self._text, self._at):
            self._here_documents = [here[2]]  # a command has one, if any
            self._at = here.end()
            self._end_word()
            return
        if self._word is not None and "".join(self._word).isdigit():
            self._word = None  # the number of a file
        self._end_word()
        signs = _REDIRECTION.match(self._text, self._at)
        self._at = signs.end() if signs else self._at + 1
        was_skipping = self._skips
        self._skips = True
        # Up to the next redirection: reading that one here would nest without a limit.
        while self._at < len(self._text) and self._text[self._at] not in " \t\n;|<>":
            self._step()
        self._end_word()
        self._skips = was_skipping

    def _skip_here_documents(self) -> None:
        for end in self._here_documents:
            match = re.compile(rf"^[ \t]*{end}[ \t]*$", re.MULTILINE).search(
                self._text, self._at
            )
            self._at = (
                min(len(self._text), match.end() + 1) if match else len(self._text)
            )
        self._here_documents = []

    def _skip_to(self, closing: str) -> None:
        end = self._text.find(closing, self._at + 1)
        self._at = len(self._text) if end < 0 else end + 1

    def _read_quoted(self, quote: str) -> None:
        self._append("")
        self._at += 1
        while self._at < len(self._text):
            character = self._text[self._at]
            if character in _CLOSING[quote]:
                self._at += 1
                is_doubled = self._text[self._at : self._at + 1] == quote
                if self._is_posix or not is_doubled:
                    return
                self._append(quote)
                self._at += 1
            elif quote == '"' and character == self._escape:
                self._read_escape_in_quotes()
            elif quote == '"' and character == "$":
                self._read_dollar()
            elif quote == '"' and character == "`":
                self._skip_to("`")
                self._append(_COMMAND_OUTPUT)
            elif not self._is_posix and self._text.startswith('\\"', self._at):
                # PowerShell hands \" to a program, which reads it as a quote.
                self._append('"')
                self._at += 2
            else:
                self._append(character)
                self._at += 1
        self._commands[-1].is_unclosed = True

    def _read_escape_in_quotes(self) -> None:
        after = self._text[self._at + 1 : self._at + 2]
        self._at += 2
        if self._is_posix:
            if after == "\n":
                return
            self._append(after if after in '"\\$`' else f"\\{after}")
        else:
            self._append(_ANSI_ESCAPES.get(after, after) if after in "ntr" else after)

    def _read_dollar(self) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        if following == "(":
            self._skip_parenthesis()
            self._append(_COMMAND_OUTPUT)
            return
        if following == "'" and self._is_posix:
            self._read_ansi_quoted()
            return
        pattern = _VARIABLE if self._is_posix else _POWERSHELL_VARIABLE
        match = pattern.match(self._text, self._at)
        if match is None:
            self._append("$")
            self._at += 1
            return
        name = next((group for group in match.groups() if group), "")
        self._append(f"{{{{{name}}}}}")
        self._at = match.end()

    def _skip_parenthesis(self) -> None:
        depth = 0
        while self._at < len(self._text):
            character = self._text[self._at]
            depth += (character == "(") - (character == ")")
            self._at += 1
            if character == ")" and depth == 0:
                return

    def _read_ansi_quoted(self) -> None:
        """Read `$'…'`, which browsers write for line breaks and other characters."""
        self._append("")
        self._at += 2
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            if character == "'":
                return
            if character != "\\":
                self._append(character)
                continue
            code = _ANSI_CODE.match(self._text, self._at)
            if code:
                digits = next(group for group in code.groups() if group)
                number = int(digits, 8 if code[4] else 16)
                self._append(chr(number) if number <= 0x10FFFF else "")
                self._at = code.end()
            else:
                after = self._text[self._at : self._at + 1]
                self._append(_ANSI_ESCAPES.get(after, after))
                self._at += 1
        self._commands[-1].is_unclosed = True


def _straight_dashes(word: str) -> str:
    """Return an option whose hyphens a word processor has joined, as it was typed."""
    if word[:1] not in _DASHES or not word:
        return word
    rest = word.lstrip(_DASHES)
    return f"--{rest}" if len(rest) > 1 else f"-{rest}"


def _split_cmd(text: str) -> list[ShellCommand]:
    """Split the text of a Windows command prompt.

    First the prompt removes its carets, then the program splits its command line by the
    rules of Microsoft's C library.
    """
    return [
        ShellCommand(_split_c_line(line), is_piped=is_piped)
        for line, is_piped in _CmdReader(text).lines()
    ]


class _CmdReader:
    """Reads lines as the prompt would run them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines: list[tuple[str, bool]] = []
        self._line: list[str] = []
        self._is_quoted = False
        self._is_piped = False

    def lines(self) -> list[tuple[str, bool]]:
        """Return the lines, each with whether its output is piped."""
        while self._at < len(self._text):
            self._step()
        self._end_line()
        return self._lines

    def _end_line(self) -> None:
        self._lines.append(("".join(self._line), self._is_piped))
        self._line = []
        self._is_quoted = self._is_piped = False

    def _add(self, text: str, length: int) -> None:
        if not self._is_piped:
            self._line.append(text)
        self._at += length

    def _step(self) -> None:
        character = self._text[self._at]
        variable = _CMD_VARIABLE.match(self._text, self._at)
        if variable:
            self._add(f"{{{{{variable[1]}}}}}", len(variable[0]))
        elif self._text.startswith("^%^", self._at):
            self._add("%", 3)
        elif character == "^" and not self._is_quoted:
            self._read_caret()
        elif character == "\n" or (character == "&" and not self._is_quoted):
            self._end_line()
            self._at += 1
        else:
            self._is_piped |= character == "|" and not self._is_quoted
            self._is_quoted ^= character == '"'
            self._add(character, 1)

    def _read_caret(self) -> None:
        """Keep what a caret escapes; the next line goes on after one at its end."""
        self._at += 1
        trailing = _END_OF_LINE.match(self._text, self._at)
        if trailing:
            self._at = trailing.end()
            if len(trailing[0]) > 1:
                return
        self._add(self._text[self._at : self._at + 1], 1)


def _end_of_backslashes(line: str, at: int) -> int:
    while line[at : at + 1] == "\\":
        at += 1
    return at


def _split_c_line(line: str) -> list[str]:
    words: list[str] = []
    word: list[str] | None = None
    is_quoted = False
    at = 0
    while at < len(line):
        character = line[at]
        if character == "\\":
            end = _end_of_backslashes(line, at)
            run = end - at
            at = end
            is_before_quote = line[at : at + 1] == '"'
            word = [] if word is None else word
            word.append("\\" * (run // 2 if is_before_quote else run))
            if is_before_quote and run % 2:
                word.append('"')
                at += 1
            continue
        if character == '"':
            word = [] if word is None else word
            if is_quoted and line[at + 1 : at + 2] == '"':
                word.append('"')
                at += 1
            else:
                is_quoted = not is_quoted
        elif character in " \t\n" and not is_quoted:
            if word is not None:
                words.append(_straight_dashes("".join(word)))
            word = None
        else:
            word = [] if word is None else word
            word.append(character)
        at += 1
    if word is not None:
        words.append(_straight_dashes("".join(word)))
    return words
