"""Every text for users is a literal template, and has its German."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from string import Formatter

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po

from outkey.foundation.core import errors
from outkey.foundation.core.errors import BadResponse, OutkeyError
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import Configuration, build
from outkey.sending.core.diagnosis.diagnose import (
    diagnose,
    diagnose_error,
    diagnose_success,
)
from outkey.sending.core.diagnosis.evidence import Diagnosis
from outkey.sending.core.diagnosis.reasons import REASONS
from outkey.sending.core.oauth2.responses import FAILURES, failure
from outkey.sending.core.request.message import Response, ResponseHeaders
from unit.exchanges import ANSWERS, NOW, OAUTH, SUCCESSES, Exchange
from unit.sources import SOURCE, parsed_modules

GERMAN = SOURCE / "hosts/django/locale/de/LC_MESSAGES/django.po"
# Helpers whose template comes from a table or a store.
GENERIC = {
    ("foundation/core/text.py", "build_text"),
    ("foundation/core/text.py", "join_texts"),
    ("foundation/core/errors.py", "label"),
    ("foundation/core/errors.py", "__init_subclass__"),
    ("foundation/core/errors.py", "default_message"),
    ("sending/core/request/message.py", "label"),
    ("sending/core/request/addresses.py", "label"),
}


@cache
def text_calls() -> list[tuple[str, str, ast.Call]]:
    """Return file, function and call of each text in the source."""
    calls = []
    for file, tree in parsed_modules().items():
        if not any(
            isinstance(node, ast.ImportFrom)
            and node.module == "outkey.foundation.core.text"
            for node in ast.walk(tree)
        ):
            continue  # another class of that name
        path = str(file.relative_to(SOURCE))
        functions: dict[ast.AST, str] = {}
        for node in ast.walk(tree):  # from the outside to the inside
            name = functions.get(node, "")
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = node.name
            for child in ast.iter_child_nodes(node):
                functions[child] = name
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Text":
                calls.append((path, functions[node], node))
    return calls


def literal_template(call: ast.Call) -> str | None:
    argument = call.args[0] if len(call.args) == 1 else None
    is_text = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    return argument.value if is_text else None  # type: ignore[union-attr, return-value]


def test_every_template_is_a_literal() -> None:
    others = {
        (path, function)
        for path, function, call in text_calls()
        if literal_template(call) is None
    }
    assert others <= GENERIC, sorted(others - GENERIC)


def test_every_placeholder_of_a_template_has_a_value() -> None:
    wrong = []
    for path, _, call in text_calls():
        template = literal_template(call)
        if template is None:
            continue
        names = {name for _, name, _, _ in Formatter().parse(template) if name}
        if names != {keyword.arg for keyword in call.keywords}:
            wrong.append((path, call.lineno, template))
    assert wrong == []


@pytest.fixture(scope="module")
def german() -> Catalog:
    with GERMAN.open("rb") as file:
        return read_po(file, "de")


def untranslated(text: Text, catalog: Catalog) -> Iterator[str]:
    """Yield the templates of a text that have words and no translation."""
    words = "".join(literal for literal, *_ in Formatter().parse(text.template))
    message = catalog.get(text.template, "outkey")
    if any(map(str.isalpha, words)) and not (message and message.string):
        yield text.template
    for value in text.values.values():
        if isinstance(value, Text):
            yield from untranslated(value, catalog)


def texts_of(diagnosis: Diagnosis) -> Iterator[Text]:
    yield diagnosis.remedy
    for suspicion in diagnosis.suspicions:
        yield from (suspicion.reason.title, suspicion.evidence, suspicion.remedy)
        if suspicion.fix:
            yield suspicion.fix.label


def configured(exchange: Exchange) -> Configuration:
    values = {
        "base_url": "https://api.acme.example",
        "authentication_type": exchange.kind,
    }
    return build("acme", values | exchange.values, headers=exchange.header_rows)


def response_of(exchange: Exchange) -> Response:
    headers = ResponseHeaders(tuple(exchange.headers.items()))
    return Response(exchange.status, headers, exchange.raw)


def test_every_diagnosis_of_an_exchange_is_in_german(german: Catalog) -> None:
    missing: set[str] = set()
    for exchange in ANSWERS:
        secrets = exchange.secrets

        def opener(name: str, secrets: Mapping[str, str] = secrets) -> Secret:
            return Secret(secrets.get(name, "x"))

        diagnosis = diagnose(
            response_of(exchange),
            configured(exchange),
            now=NOW,
            secret=opener if secrets else None,
        )
        assert diagnosis is not None
        for text in texts_of(diagnosis):
            missing |= set(untranslated(text, german))
    for exchange in SUCCESSES:
        diagnosis = diagnose_success(
            response_of(exchange), configured(exchange), now=NOW
        )
        assert diagnosis is not None
        for text in texts_of(diagnosis):
            missing |= set(untranslated(text, german))
    assert missing == set()


def test_every_diagnosis_of_an_error_is_in_german(german: Catalog) -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type)
        and issubclass(kind, OutkeyError)
        and kind is not BadResponse
    ]
    cases = [kind() for kind in kinds] + [failure(reason) for reason in FAILURES]
    values = {"base_url": "https://api.acme.example", "authentication_type": "bearer"}
    configuration = build("acme", values | OAUTH["values"])
    missing: set[str] = set()
    for error in cases:
        diagnosis = diagnose_error(error, configuration, now=NOW)
        for text in (error.message, error.hint, *texts_of(diagnosis)):
            missing |= set(untranslated(text, german))
    assert missing == set()


def test_every_reason_is_in_german(german: Catalog) -> None:
    missing: set[str] = set()
    for reason in REASONS.values():
        for text in (reason.title, reason.remedy):
            missing |= set(untranslated(text, german))
    assert missing == set()
