"""An API that hands back what we sent it: nobody is shown it, and no run keeps it."""

import json
from dataclasses import replace

import pytest

from outkey.adapters.calendar_cronsim import CronCalendar
from outkey.adapters.finder_jmespath import JmespathFinder
from outkey.core.config import SyncLine
from outkey.core.errors import OutkeyError, SyncFailed
from outkey.core.message import Request, Response
from outkey.core.secret import Secret
from outkey.core.sync.line import FieldMapping, Incremental, Pagination, Paging, Sync, Transform
from outkey.core.sync.run import Counts, RunState
from outkey.engine.echo import gives_away, sent_secrets
from outkey.engine.sync import Effect, SyncPorts, SyncRunner
from outkey.testing import configuration, fake_gateway
from outkey.testing.fakes_sync import MemoryRecords, MemoryRuns
from unit.test_sync_run import FIELDS, PULL, PUSH, Desk, answer, desk, stored
from unit.test_tokens import NAMES, OAUTH, SECRETS, Provider

TOKEN = "sekret/canary-4711"
ONE_PAGE = replace(PULL, pagination=Pagination())
CURSOR = Pagination(Paging.CURSOR, position_parameter="after", cursor="next")


def shop(sync: Sync, *answers: Response) -> Desk:
    rest = list(answers)
    made = desk(sync, lambda _: rest.pop(0))
    made.world.secrets.values["token"] = TOKEN
    return made


def mapped(*mappings: FieldMapping) -> Sync:
    return replace(ONE_PAGE, mappings=(FieldMapping("id", "number"), *mappings))


def told(made: Desk) -> list[Effect]:
    effects: list[Effect] = []
    made.run(dry_run=True, note=effects.append)
    return effects


def test_a_dry_run_tells_no_secret_and_a_run_writes_what_the_api_said() -> None:
    echo = answer([{"id": "7", "name": f"I {TOKEN}"}])
    made = shop(ONE_PAGE, echo, echo)
    (effect,) = told(made)
    assert (effect.values["name"], effect.changes["name"][1], effect.key) == ("***", "***", "***")
    made.run()
    assert made.records.rows("contact") == [{"number": "7", "name": f"I {TOKEN}"}]


@pytest.mark.parametrize("expression", ["reverse(name)", "to_string(reverse(@.name))"])
def test_where_the_answer_holds_a_secret_an_expression_cannot_carry_it_out(expression: str) -> None:
    made = shop(mapped(FieldMapping(expression, "name")), answer([{"id": "7", "name": TOKEN}]))
    (effect,) = made.runner.preview("contacts")
    assert effect.values == {"number": "***", "name": "***"}


def test_neither_can_a_script() -> None:
    echo = answer([{"id": "7", "name": TOKEN}])
    made = shop(replace(ONE_PAGE, script="def transform(record):\n    return record\n"), echo)
    made.world.scripts.change = lambda record: record | {"name": str(record["name"])[::-1]}
    (effect,) = made.runner.preview("contacts")
    assert effect.values["name"] == "***"


def test_an_answer_that_escapes_the_secret_is_read_as_it_is_meant() -> None:
    body = json.dumps([{"id": "7", "name": TOKEN}]).replace("/", "\\/").replace("s", "\\u0073")
    made = shop(ONE_PAGE, Response(200, body=body.encode()))
    assert made.runner.preview("contacts")[0].values["name"] == "***"


def test_what_holds_a_secret_without_the_api_is_masked_and_the_rest_is_told() -> None:
    constant = FieldMapping("", "name", Transform.CONSTANT, options={"value": f"my {TOKEN}"})
    made = shop(mapped(constant), answer([{"id": "7"}]))
    assert made.runner.preview("contacts")[0].values == {"number": "7", "name": "***"}
    pushing = shop(PUSH)
    pushing.change(PUSH, "POST")
    stored(pushing, {"number": "7", "name": TOKEN})
    (effect,) = pushing.runner.preview("contacts")
    assert effect.values == {"number": "7", "name": "***"}


def test_what_was_written_before_is_not_told_either() -> None:
    made = shop(ONE_PAGE, answer([{"id": "7", "name": "new"}]))
    stored(made, {"number": "7", "name": TOKEN})
    assert told(made)[0].changes == {"name": ("***", "new")}


def test_a_record_that_is_left_out_is_kept_and_told_without_the_secret() -> None:
    bad = {"id": f"Bearer {TOKEN}", "name": "a name that is much too long"}
    made = shop(ONE_PAGE, answer([{"id": "1", "name": "right"}, bad]))
    effects: list[Effect] = []
    run = made.run(note=effects.append)
    assert run.counts == Counts(created=1, failed=1)
    assert [(one.number, one.key) for one in made.runs.left_out(run.id, 9)] == [(2, "***")]
    assert TOKEN not in repr([(one.key, one.values) for one in effects])


@pytest.mark.parametrize(
    ("sync", "document"),
    [
        (replace(ONE_PAGE, pagination=CURSOR, records="items"), {"items": [], "next": TOKEN}),
        (
            replace(ONE_PAGE, records="items", incremental=Incremental("since", "at")),
            {"items": [{"id": "1", "at": f"Bearer {TOKEN}"}]},
        ),
    ],
)
def test_a_place_or_a_value_to_go_on_from_that_holds_a_secret_ends_the_run(
    sync: Sync, document: object
) -> None:
    made = shop(sync, answer(document))
    with pytest.raises(SyncFailed) as caught:
        made.run()
    assert caught.value.reason == "secret_in_cursor"
    (run,) = made.runs.newest(9)
    assert (run.state, run.cause) == (RunState.FAILED, "secret_in_cursor")
    assert TOKEN not in repr(run)
    assert made.records.rows("contact") == []


def test_another_cursor_is_kept_though_the_answer_holds_a_secret() -> None:
    first = {"items": [{"id": "1", "name": TOKEN}], "next": "b"}
    made = shop(
        replace(ONE_PAGE, pagination=CURSOR, records="items"), answer(first), answer({"items": []})
    )
    assert made.run().counts == Counts(created=1)


def test_a_number_of_a_page_is_no_secret() -> None:
    made = desk(PULL, lambda request: answer([] if "page=1002" in request.target else [{"id": 1}]))
    made.change(replace(PULL, pagination=replace(PULL.pagination, first=1001)))
    made.world.secrets.values["token"] = "1002"
    assert made.run().state is RunState.DONE


def test_tokens_of_an_authorization_server_are_masked() -> None:
    provider = Provider()

    def api(request: Request) -> Response | OutkeyError:
        given = provider(request)
        if request.origin.host.startswith("auth."):
            return given
        return answer([{"id": "7", "name": f"Bearer {provider.seen[-1]}"}])

    line = SyncLine("contacts", "acme", "GET", "/contacts", ONE_PAGE)
    made = configuration(limits__retries=0, **OAUTH)
    world = fake_gateway(made, answers=api, secrets=SECRETS, names=NAMES, lines=[line])
    runs = MemoryRuns(world.clock)
    ports = SyncPorts(
        world.gateway,
        world.ports.configurations,
        MemoryRecords(FIELDS, runs),
        runs,
        JmespathFinder(),
        world.clock,
        CronCalendar(),
    )
    assert SyncRunner(ports).preview("contacts")[0].values["name"] == "***"
    sent = sent_secrets(world.gateway, made)
    assert sent == [Secret(provider.seen[0]), Secret(SECRETS["client_secret"])]


def test_a_secret_is_looked_for_as_it_was_entered_and_as_it_is_sent() -> None:
    made = shop(ONE_PAGE)
    made.world.secrets.values["token"] = f" Bearer {TOKEN} "
    kept = made.world.ports.configurations.get("acme")
    entered = (f" Bearer {TOKEN} ", f"Bearer {TOKEN}", TOKEN)
    assert sent_secrets(made.world.gateway, kept) == [Secret(text) for text in entered]
    del made.world.secrets.values["token"]
    assert sent_secrets(made.world.gateway, kept) == []


def test_what_is_nested_too_deeply_to_be_looked_through_is_taken_for_a_secret() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert gives_away([Secret(TOKEN)], deep)
    assert not gives_away([Secret(TOKEN)], [["harmless"]])
