"""Rules of taste that a machine can check. A list here grows only on purpose."""

import ast
import re
from pathlib import Path

import outkey
from outkey import errors
from outkey.foundation.core import errors as core_errors
from outkey.foundation.core.text import Text
from unit.sources import SOURCE, parsed_modules

ROOT = Path(__file__).parents[2]
FORMER_NAMES = {"AnswerBroken": "ResponseBroken", "BadAnswer": "BadResponse"}


def callers_of(method: str) -> set[str]:
    found = set()
    for file, module in parsed_modules().items():
        for node in ast.walk(module):
            if isinstance(node, ast.Attribute) and node.attr == method:
                found.add(file.relative_to(SOURCE).as_posix())
    return found


def test_only_these_files_reveal_a_secret() -> None:
    assert callers_of("reveal") == {
        "sending/adapters/secrets/keyring.py",
        "sending/adapters/secrets/keyring_file.py",
        "sending/adapters/scripts_locked/link.py",
        "foundation/core/echo/masking.py",
        "sending/adapters/secrets/secrets_envelope.py",
        "sending/adapters/tokens/signer_jose.py",
        "sync/adapters/tables/databases.py",  # a driver takes the URL as it is
        "sending/adapters/transport/tls_context.py",
        "sending/adapters/transport/transport_sockets.py",
        # What a consent is about, which is sealed beside what was entered.
        "administration/engine/connecting/consents.py",
        "webhooks/adapters/webhook_vault.py",  # the key that seals bodies
        "sending/core/request/sent_secrets.py",
        "sending/core/oauth2/jwt.py",
        # The temporary token that a browser takes to the provider.
        "sending/core/oauth1/legs.py",
        "foundation/core/secret.py",
        "webhooks/core/verification/keys.py",  # an HMAC needs the bytes of its key
        # A token that Notion wants a user to enter there.
        "hosts/cli/commands/webhooks.py",
        "hosts/django/pages/webhooks/pages.py",  # the same token
        "integrations/httpx_flow.py",
        "integrations/requests.py",
    }


def test_the_public_names_are_these() -> None:
    assert outkey.__all__ == [
        "Gateway",
        "Response",
        "Secret",
        "aopen",
        "errors",
        "integrations",
        "load",
        "open",
    ]


def test_every_error_is_public_and_has_a_code_of_its_own_branch() -> None:
    classes = {
        name: value
        for name, value in vars(core_errors).items()
        if isinstance(value, type) and issubclass(value, core_errors.OutkeyError)
    }
    assert {*classes, *FORMER_NAMES, "Cause"} == set(errors.__all__)
    for error in classes.values():
        assert error.__doc__
        assert isinstance(error.cause, core_errors.Cause)


def test_every_error_is_drawn_in_the_tree() -> None:
    drawing = core_errors.__doc__ or ""
    for name in {*errors.__all__} - {*FORMER_NAMES}:
        assert name in drawing or name == "Cause"


def test_errors_can_still_be_imported_by_their_former_names() -> None:
    for former, name in FORMER_NAMES.items():
        assert getattr(errors, former) is getattr(errors, name)
    # Their codes are stored, and in the responses of the HTTP interface.
    assert errors.ResponseBroken().code == "connection"
    refused = errors.BadResponse(errors.Cause.TOKEN_EXPIRED, 401, Text("Renew it."))
    assert refused.code == "token_expired"


def test_nothing_switches_verification_off() -> None:
    banned = re.compile(
        r"CERT_NONE|verify\s*=\s*False|_create_unverified|trust_env\s*=\s*True"
    )
    offenders = [
        f.name for f in SOURCE.rglob("*.py") if banned.search(f.read_text("utf-8"))
    ]
    assert offenders == []


def test_locks_hold_no_download_address() -> None:
    locks = list((ROOT / "requirements").glob("*.lock"))
    assert locks
    for lock in locks:
        text = lock.read_text("utf-8")
        assert "://" not in text
        assert text.count("==") <= text.count("--hash=sha256:")


def test_every_module_says_what_may_live_in_it() -> None:
    for file, module in parsed_modules().items():
        assert ast.get_docstring(module), file.name


def test_every_folder_of_tests_is_run() -> None:
    root = Path(__file__).parents[2]
    there = {file.parent.name for file in (root / "tests").glob("*/test_*.py")}
    named = re.findall(r"tests/(\w+)", (root / "tools" / "run_tests.py").read_text())
    assert there == set(named)


def test_only_one_place_decides_whose_frame_it_is() -> None:
    """A test that searches frame paths for a name fails in a folder of that name."""
    names = re.compile(r"\b(frame\.filename|co_filename)\b")
    tests = ROOT / "tests"
    found = {
        file.relative_to(tests).as_posix()
        for file in tests.rglob("*.py")
        if names.search(file.read_text("utf-8"))
    }
    assert found == {"frames.py", "unit/test_ratchets.py"}


def test_no_line_of_a_template_is_longer_than_160_characters() -> None:
    """Djlint leaves text beside inline tags alone, however long its line is."""
    long = [
        f"{file.name}:{number}"
        for file in SOURCE.rglob("*.html")
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1)
        if len(line) > 160
    ]
    assert long == []
