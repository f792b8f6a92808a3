"""An API that hands back what we sent it: nobody is shown it, and no run keeps it."""

import json
from base64 import b64encode, urlsafe_b64encode
from dataclasses import replace
from urllib.parse import quote, quote_plus

import pytest

from outkey.foundation.adapters.paths_jmespath import JmespathCompiler
from outkey.foundation.core.echo.strict import reveals_secret
from outkey.foundation.core.errors import OutkeyError, SyncFailed
from outkey.foundation.core.secret import Secret
from outkey.sending.core.request.message import Request, Response, ResponseHeaders
from outkey.sending.engine.exchange.echoed_secrets import (
    EchoDetector,
    has_masked_value,
    sent_secrets,
)
from outkey.sync.adapters.calendar_cronsim import CronCalendar
from outkey.sync.core.line.line import (
    FieldMapping,
    Incremental,
    Pagination,
    Paging,
    Sync,
    SyncLine,
    Transform,
)
from outkey.sync.core.mapping.records import WriteOutcome
from outkey.sync.core.run.effects import Effect
from outkey.sync.core.run.run import Counts, RunState
from outkey.sync.engine.pull.secret_guard import CACHE_SECONDS
from outkey.sync.engine.runs.line_plan import SyncPorts
from outkey.sync.engine.runs.runner import SyncRunner
from outkey.testing import FakeWorld, configuration, fake_gateway
from outkey.testing.fakes.sync import MemorySync
from unit.sending.engine.tokens.test_tokens import NAMES, OAUTH, SECRETS, Provider
from unit.sync.engine.pull.test_sync_run import (
    FIELDS,
    PULL,
    PUSH,
    FakeSync,
    answer,
    fake_sync,
    people,
    stored,
)

TOKEN = "sekret/canary-4711"
ONE_PAGE = replace(PULL, pagination=Pagination())
LINE = SyncLine("contacts", "acme", "GET", "/contacts", ONE_PAGE)
CURSOR = Pagination(Paging.CURSOR, position_parameter="after", cursor="next")


def shop(sync: Sync, *responses: Response) -> FakeSync:
    rest = list(responses)
    made = fake_sync(sync, lambda _: rest.pop(0))
    made.world.secrets.values["token"] = TOKEN
    return made


def desk_of(world: FakeWorld) -> FakeSync:
    memory = MemorySync(world.ports.configurations, FIELDS, world.clock)
    ports = SyncPorts(
        world.sender,
        world.ports.configurations,
        memory.records,
        memory.runs,
        JmespathCompiler(),
        world.clock,
        CronCalendar(),
        memory.ledger,
        memory.parents,
        world.scripts,
    )
    return FakeSync(SyncRunner(ports), world, memory, ports)


def mapped(*mappings: FieldMapping) -> Sync:
    return replace(ONE_PAGE, mappings=(FieldMapping("id", "number"), *mappings))


def dry_run_effects(made: FakeSync) -> list[Effect]:
    effects: list[Effect] = []
    made.run(dry_run=True, note=effects.append)
    return effects


REJECTED = (WriteOutcome.REFUSED, "secret_in_record", {})


def result(effect: Effect) -> tuple[WriteOutcome, str, object]:
    return effect.outcome, effect.reason, effect.values


def test_a_record_that_repeats_a_secret_is_rejected_and_the_others_are_written() -> (
    None
):
    echo = answer([{"id": "7", "name": f"I {TOKEN}"}, {"id": "8", "name": "harmless"}])
    made = shop(ONE_PAGE, echo, echo)
    first, second = dry_run_effects(made)
    assert result(first) == REJECTED
    assert second.values == {
        "number": "***",
        "name": "***",
    }  # of such a page nothing is shown
    effects: list[Effect] = []
    run = made.run(note=effects.append)
    assert run.counts == Counts(created=1, failed=1)
    assert made.records.rows("contact") == [{"number": "8", "name": "harmless"}]
    (item,) = made.runs.rejected(run.id, 9)
    assert (item.number, item.key, item.field, item.reason) == (
        1,
        "***",
        "",
        "secret_in_record",
    )
    assert result(effects[0]) == REJECTED
    assert TOKEN not in repr((run, item, effects, [one.values for one in effects]))


@pytest.mark.parametrize(
    "value",
    [
        TOKEN,
        TOKEN.upper(),
        f"prefix {TOKEN} suffix",
        *(b64encode(b"x" * n + TOKEN.encode() + b"y" * n).decode() for n in range(4)),
        *(
            urlsafe_b64encode(b"?" * n + TOKEN.encode()).decode().rstrip("=")
            for n in range(4)
        ),
        TOKEN.encode().hex(),
        TOKEN.encode().hex().upper(),
        TOKEN.encode().hex(":"),
        quote(TOKEN, safe=""),
        quote_plus(TOKEN),
        TOKEN[::-1],
        " ".join(TOKEN),
        "\n".join(TOKEN),
        "\u200b".join(TOKEN),
        {TOKEN: 1},
        {"first": TOKEN[:9], "then": {"between": 1}, "second": TOKEN[9:]},
        {"second": TOKEN[5:], "first": TOKEN[:5]},
        [TOKEN[:9], TOKEN[9:]],
        [TOKEN.encode().hex()[:11], TOKEN.encode().hex()[11:]],
        {"headers": {"Authorization": f"Bearer {TOKEN}"}},
    ],
)
@pytest.mark.parametrize("script", ["", "def transform(record):\n    return record\n"])
def test_a_secret_is_recognised_in_every_usual_form(value: object, script: str) -> None:
    page = answer([{"id": "7", "name": "x", "echo": value}, {"id": "8", "name": "y"}])
    made = shop(replace(ONE_PAGE, script=script), page)
    seen: list[object] = []
    made.world.scripts.change = lambda record: (seen.append(record["id"]), record)[1]
    run = made.run()
    assert run.counts == Counts(created=1, failed=1)
    assert [one.reason for one in made.runs.rejected(run.id, 9)] == ["secret_in_record"]
    assert made.records.rows("contact") == [{"number": "8", "name": "y"}]
    assert seen == (["8"] if script else [])  # a script is not even given it


def test_what_a_script_or_a_template_puts_together_is_rejected_too() -> None:
    thirds = {"a": TOKEN[:6], "b": TOKEN[6:12], "c": TOKEN[12:]}
    page = answer([{"id": "7", "name": "x", **thirds}])
    scripted = shop(
        replace(ONE_PAGE, script="def transform(record):\n    return record\n"), page
    )
    scripted.world.scripts.change = lambda record: (
        record | {"name": f"{record['a']}{record['b']}{record['c']}"}
    )
    template = FieldMapping(
        "", "name", Transform.TEMPLATE, options={"template": "{a}{b}{c}"}
    )
    expression = FieldMapping("join('', [a, b, c])", "name")
    for made in (
        scripted,
        shop(mapped(template), page),
        shop(mapped(expression), page),
    ):
        run = made.run()
        assert run.counts == Counts(failed=1)
        assert [one.reason for one in made.runs.rejected(run.id, 9)] == [
            "secret_in_record"
        ]
        assert made.records.rows("contact") == []


def test_a_secret_outside_of_the_records_rejects_none() -> None:
    page = answer(
        {"items": [{"id": "7", "name": "x"}], "headers": {"Authorization": TOKEN}}
    )
    made = shop(replace(ONE_PAGE, records="items"), page)
    assert made.run().counts == Counts(created=1)


def test_a_record_that_is_too_big_to_be_looked_through_keeps_its_own_reason() -> None:
    deep: object = TOKEN
    for _ in range(120):
        deep = [deep]
    made = shop(ONE_PAGE, answer([{"id": "7", "name": "x", "deep": deep}]))
    run = made.run()
    assert [one.reason for one in made.runs.rejected(run.id, 9)] == ["too_deep"]


@pytest.mark.parametrize("password", ["1", "abc", "test", "2026", "20261115"])
def test_a_short_secret_does_not_reject_ordinary_records(password: str) -> None:
    page = answer([{"id": 12026, "name": "latest abc", "at": "2026-11-15"}])
    made = shop(ONE_PAGE, page)
    made.world.secrets.values["token"] = password
    assert made.run().counts == Counts(created=1)


@pytest.mark.parametrize(
    "value", ["hunter2", "aHVudGVyMg==", "aHVudGVyMg", "68756e74657232"]
)
def test_a_short_secret_is_recognised_where_it_is_the_whole_value(value: str) -> None:
    made = shop(
        ONE_PAGE, answer([{"id": "7", "name": value}, {"id": "8", "name": "hunter21"}])
    )
    made.world.secrets.values["token"] = "hunter2"
    assert made.run().counts == Counts(created=1, failed=1)


def test_a_body_in_another_encoding_is_read_as_it_is_meant() -> None:
    body = json.dumps([{"id": "7", "name": TOKEN}]).encode("utf-16")
    made = shop(ONE_PAGE, Response(200, body=body))
    assert made.run().counts == Counts(failed=1)


def test_what_a_script_signs_is_rejected_and_what_anybody_knows_is_not() -> None:
    rest = [
        {"id": "7", "signature": "made-for-1"},
        {"id": "8", "account": "account-4711"},
    ]
    rest += [{"id": "9", "at": 1_800_000_000, "day": "2027-01-15T08:00:00Z"}]
    script = "def compute_auth_header(sync_line):\n    account = 'account-4711'\n"
    kept = configuration(limits__retries=0, authentication_type="bearer", script=script)
    world = fake_gateway(
        kept, responses=lambda _: answer(rest), secrets={"token": "t"}, lines=[LINE]
    )
    made = desk_of(world)
    world.scripts.answer = lambda _: {
        "X-Signature": "made-for-1",
        "X-Account": "account-4711",
        "X-Time": "1800000000",
        "X-Date": "2027-01-15T08:00:00Z",
    }
    run = made.run()
    assert run.counts == Counts(created=2, failed=1)
    assert [one.number for one in made.runs.rejected(run.id, 9)] == [1]


@pytest.mark.parametrize("expression", ["reverse(name)", "to_string(reverse(@.name))"])
def test_where_the_answer_holds_a_secret_an_expression_cannot_carry_it_out(
    expression: str,
) -> None:
    made = shop(
        mapped(FieldMapping(expression, "name")), answer([{"id": "7", "name": TOKEN}])
    )
    (effect,) = made.runner.preview("contacts")
    assert result(effect) == REJECTED


def test_neither_can_a_script() -> None:
    echo = answer([{"id": "7", "name": TOKEN}])
    made = shop(
        replace(ONE_PAGE, script="def transform(record):\n    return record\n"), echo
    )
    made.world.scripts.change = lambda record: (
        record | {"name": str(record["name"])[::-1]}
    )
    (effect,) = made.runner.preview("contacts")
    assert result(effect) == REJECTED


def test_an_answer_that_escapes_the_secret_is_read_as_it_is_meant() -> None:
    body = (
        json.dumps([{"id": "7", "name": TOKEN}])
        .replace("/", "\\/")
        .replace("s", "\\u0073")
    )
    made = shop(ONE_PAGE, Response(200, body=body.encode()))
    assert result(made.runner.preview("contacts")[0]) == REJECTED


def test_what_holds_a_secret_without_the_api_is_not_shown() -> None:
    constant = FieldMapping(
        "", "name", Transform.CONSTANT, options={"value": f"my {TOKEN}"}
    )
    made = shop(mapped(constant), answer([{"id": "7"}]))
    assert result(made.runner.preview("contacts")[0]) == REJECTED
    pushing = shop(PUSH)
    pushing.change(PUSH, "POST")
    stored(pushing, {"number": "7", "name": TOKEN})
    (effect,) = pushing.runner.preview("contacts")
    assert effect.values == {"number": "7", "name": "***"}


def test_what_was_written_before_is_not_told_either() -> None:
    made = shop(ONE_PAGE, answer([{"id": "7", "name": "new"}]))
    stored(made, {"number": "7", "name": TOKEN})
    assert dry_run_effects(made)[0].changes == {"name": ("***", "new")}


def test_a_record_that_is_left_out_is_kept_and_told_without_the_secret() -> None:
    bad = {"id": f"Bearer {TOKEN}", "name": "a name that is much too long"}
    made = shop(ONE_PAGE, answer([{"id": "1", "name": "right"}, bad]))
    effects: list[Effect] = []
    run = made.run(note=effects.append)
    assert run.counts == Counts(created=1, failed=1)
    assert [(one.number, one.key) for one in made.runs.rejected(run.id, 9)] == [
        (2, "***")
    ]
    assert TOKEN not in repr([(one.key, one.values) for one in effects])


@pytest.mark.parametrize(
    ("sync", "document"),
    [
        (
            replace(ONE_PAGE, pagination=CURSOR, records="items"),
            {"items": [], "next": TOKEN},
        ),
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
        replace(ONE_PAGE, pagination=CURSOR, records="items"),
        answer(first),
        answer({"items": []}),
    )
    assert made.run().counts == Counts(failed=1)


def test_a_number_of_a_page_is_no_secret() -> None:
    made = fake_sync(
        PULL,
        lambda request: answer([] if "page=1002" in request.target else [{"id": 1}]),
    )
    made.use(replace(PULL, pagination=replace(PULL.pagination, first=1001)))
    made.world.secrets.values["token"] = "1002"
    assert made.run().state is RunState.DONE


def test_tokens_of_an_authorization_server_are_masked() -> None:
    provider = Provider()

    def api(request: Request) -> Response | OutkeyError:
        given = provider(request)
        if request.origin.host.startswith("auth."):
            return given
        return answer([{"id": "7", "name": f"Bearer {provider.seen[-1]}"}])

    made = configuration(limits__retries=0, **OAUTH)
    world = fake_gateway(
        made, responses=api, secrets=SECRETS, names=NAMES, lines=[LINE]
    )
    assert result(desk_of(world).runner.preview("contacts")[0]) == REJECTED
    sent = sent_secrets(world.sender.context, made)
    assert sent == [Secret(provider.seen[0]), Secret(SECRETS["client_secret"])]


def test_a_secret_that_cannot_be_read_any_more_is_looked_for_until_the_run_ends() -> (
    None
):
    provider = Provider()
    secret = SECRETS["client_secret"]
    pages = [people(1, 2), [{"id": 3, "name": secret}]]

    def api(request: Request) -> Response | OutkeyError:
        given = provider(request)
        if request.origin.host.startswith("auth."):
            return given
        if len(pages) == 1:
            world.secrets.values.clear()
            world.clock.advance(CACHE_SECONDS)
        return answer(pages.pop(0) if pages else [])

    made = configuration(limits__retries=0, **OAUTH)
    line = replace(LINE, sync=PULL)
    world = fake_gateway(
        made, responses=api, secrets=dict(SECRETS), names=NAMES, lines=[line]
    )
    run = desk_of(world).run()
    assert (run.counts.created, run.counts.failed) == (2, 1)


def test_a_secret_is_looked_for_as_it_was_entered_and_as_it_is_sent() -> None:
    made = shop(ONE_PAGE)
    made.world.secrets.values["token"] = f" Bearer {TOKEN} "
    kept = made.world.ports.configurations.get("acme")
    entered = (f" Bearer {TOKEN} ", f"Bearer {TOKEN}", TOKEN)
    assert sent_secrets(made.world.sender.context, kept) == [
        Secret(text) for text in entered
    ]
    del made.world.secrets.values["token"]
    assert sent_secrets(made.world.sender.context, kept) == []


def test_what_is_nested_too_deeply_to_be_looked_through_is_taken_for_a_secret() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert reveals_secret([Secret(TOKEN)], deep)
    assert not reveals_secret([Secret(TOKEN)], [["harmless"]])


@pytest.mark.parametrize(
    "expression",
    [
        "items[?contains('{guess}', @.id) || contains(to_string(@), '{guess}')]",
        "[echo][?starts_with(@, '{guess}')].{{id: 'yes', name: 'yes'}}",
        "items[?contains(to_string(@.name), '{guess}')]",
    ],
)
def test_an_expression_tells_nothing_about_a_secret_that_is_echoed(
    expression: str,
) -> None:
    """Else a user who may change lines could guess the secret piece by piece."""
    page = answer({"echo": TOKEN, "items": [{"id": "7", "name": f"x {TOKEN}"}]})
    results = []
    for guess in (TOKEN[:4], "zzzz"):
        sync = replace(ONE_PAGE, records=expression.format(guess=guess))
        made = shop(sync, page)
        try:
            results.append([one.outcome for one in made.runner.preview("contacts")])
        except OutkeyError as error:
            results.append(str(error.code))
    assert results[0] == results[1]


def test_a_document_that_is_too_deep_to_be_masked_is_masked_as_a_whole() -> None:
    detector = EchoDetector()
    detector.look_for([Secret(TOKEN)])
    deep: object = TOKEN
    for _ in range(100_000):
        deep = [deep]
    assert detector.masked(deep) == "***"
    assert detector.masked({TOKEN: [1, "x", TOKEN]}) == {"***": [1, "x", "***"]}
    assert has_masked_value(detector.masked({"a": [TOKEN]}))
    assert not has_masked_value({"a": ["***"]})


def test_a_cursor_or_latest_value_that_was_masked_ends_the_run() -> None:
    by_cursor = replace(ONE_PAGE, pagination=CURSOR, records="items")
    cursor = shop(
        by_cursor, answer({"items": [{"id": "7", "name": "n"}], "next": TOKEN})
    )
    since = Incremental(field="name", parameter="since")
    latest = shop(
        replace(ONE_PAGE, incremental=since), answer([{"id": "7", "name": TOKEN}])
    )
    for made in (cursor, latest):
        with pytest.raises(SyncFailed) as failed:
            made.run()
        assert failed.value.reason == "secret_in_cursor"


def test_a_next_page_that_a_link_spells_with_a_secret_ends_the_run() -> None:
    link = (
        (
            "Link",
            (
                f"<https://api.acme.example/contacts?after={quote(TOKEN, safe='')}>;"
                ' rel="next"'
            ),
        ),
    )
    page = Response(200, ResponseHeaders(link), b'[{"id": "7", "name": "n"}]')
    made = shop(replace(ONE_PAGE, pagination=Pagination(Paging.LINK)), page)
    with pytest.raises(SyncFailed) as failed:
        made.run()
    assert failed.value.reason == "secret_in_cursor"
