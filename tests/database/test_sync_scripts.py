"""Lines with a script, on both databases, with a real server and the real lock."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from cli.test_line_commands import document
from database.conftest import stored_runs
from database.test_sync_faults import ON_ONE, Shop, shop, spar  # noqa: F401 - fixtures
from outkey.administration.core.document.document import parse_document
from outkey.administration.engine.editing.administration import Administration
from outkey.foundation.core.errors import ConfigError, ScriptFailed
from outkey.sync.core.run.run import Counts, RejectedRecord

COUNT = 250
SCRIPT = """
from decimal import Decimal

def transform(record):
    number = int(record["id"][1:])
    if number % 10 == 1:
        return None
    if number == 5:
        return record["no such field"]
    if number == 7:
        return {"id": float("nan")}
    record["full_name"] = record["full_name"].upper()
    record["credit"] = Decimal(record["credit"]) + Decimal("0.01")
    return record
"""


def with_script(shop: Shop, script: str, count: int = COUNT) -> None:  # noqa: F811 - the fixture's
    text = document(shop.spar, "page", count)
    text = text.replace(
        "[line.contacts]",
        f"[line.contacts]\nguard_percent = 100\nscript = '''{script}'''",
        1,
    )
    administration = Administration(
        shop.application.registry,
        shop.application.secrets,
        shop.application.audit,
        "tester",
    )
    shop.application.apply(administration, parse_document(text), dry_run=False)
    shop.spar.clear()


def test_records_are_kept_as_the_script_made_them(shop: Shop) -> None:  # noqa: F811
    with_script(shop, SCRIPT)
    run = shop.run()
    assert run.counts == Counts(created=COUNT - 25 - 2, failed=2)
    assert shop.target()[1] == ("c2", "CONTACT 2", Decimal("2.51"), True)
    assert stored_runs().rejected(run.id, 9) == [
        RejectedRecord(5, "", "script:8 KeyError", "script_error"),
        RejectedRecord(7, "", "script", "script_result"),
    ]
    assert shop.run().counts == Counts(unchanged=COUNT - 25 - 2, failed=2)


@ON_ONE
def test_what_a_script_leaves_out_is_gone(shop: Shop) -> None:  # noqa: F811
    with_script(shop, "def transform(record):\n    return record\n", 20)
    assert shop.run().counts == Counts(created=20)
    with_script(
        shop, "def transform(r):\n    return r if int(r['id'][1:]) < 5 else None\n", 20
    )
    assert shop.run().counts == Counts(unchanged=5, archived=15)


@ON_ONE
def test_a_line_s_script_is_given_no_secret_of_its_configuration(
    shop: Shop,  # noqa: F811 - a fixture
) -> None:
    script = """
import uuid
def transform(record):
    frame, found = uuid.sys._getframe(), []
    while frame:
        found += [repr(value) for value in frame.f_locals.values()]
        frame = frame.f_back
    found += uuid.os.environ.values()
    record["full_name"] = "seen" if "spar-token" in "".join(found) else "not seen"
    return record
"""
    with_script(shop, script.replace("spar-token", "' + 'spar-' 'token' + '"), 1)
    shop.run()
    assert [row[1] for row in shop.target()] == ["not seen"]


@ON_ONE
def test_without_a_lock_a_line_with_a_script_brings_nothing(
    shop: Shop,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    from outkey.sending.adapters.scripts_locked import spawner as nursery

    with_script(shop, SCRIPT)
    monkeypatch.setattr(nursery, "_python", lambda: str(tmp_path / "no python"))
    with pytest.raises(ScriptFailed, match="scripts cannot run on this machine"):
        shop.run()
    assert shop.target() == []


@ON_ONE
def test_a_script_without_its_function_is_told_before_anything_is_asked_for(
    shop: Shop,  # noqa: F811
) -> None:
    with_script(shop, SCRIPT)
    line = shop.application.registry.line("contacts")
    assert line.sync
    shop.application.registry.put_line(
        replace(line, sync=replace(line.sync, script="x = 1"))
    )
    with pytest.raises(ConfigError, match="has no function transform"):
        shop.run()
    assert shop.pages() == []
