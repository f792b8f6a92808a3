"""The gateway for users' own tests: its table, its errors and its assertions."""

import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import ANY

import httpx
import pytest

import outkey
from outkey import Gateway, Response, Secret, errors
from outkey.foundation.core.errors import Cause
from outkey.integrations.httpx import OutkeyAuth
from outkey.testing import FakeGateway, FakeRequest, UnexpectedRequest, make_response
from outkey.testing.gateway.recording import RecordingGateway

DOCUMENT = """
[configuration.shop]
base_url = "https://shop.example/v2"
authentication_type = "bearer"
token = "env:NO_SUCH_VARIABLE"
headers = [{ key = "X-Tenant", value = "7" }]

[configuration.login]
base_url = "https://login.example"
authentication_type = "bearer"
token_source = "oauth2"
oauth2 = { token_url = "https://login.example/token", client_id = "me", client_secret = "env:NO_SUCH_VARIABLE" }

[configuration.digest]
base_url = "https://digest.example"
authentication_type = "digest"
username = "me"
password = "env:NO_SUCH_VARIABLE"
proxy = { url = "http://proxy.example:3128" }

[configuration.off]
base_url = "https://off.example"
authentication_type = "bearer"
token = "env:NO_SUCH_VARIABLE"
active = false

[line.orders]
configuration = "shop"
method = "GET"
path = "/orders"
"""  # noqa: E501 - an inline table has one line


@pytest.fixture
def gateway() -> FakeGateway:
    return FakeGateway()


@pytest.fixture
def known(tmp_path: Path) -> FakeGateway:
    file = tmp_path / "outkey.toml"
    file.write_text(DOCUMENT, encoding="utf-8")
    return FakeGateway(file)


def public_methods(kind: type) -> dict[str, Callable[..., object]]:
    return {
        name: value
        for name, value in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") or name in {"__enter__", "__aexit__"}
    }


@pytest.mark.parametrize("kind", [FakeGateway, RecordingGateway])
def test_a_fake_has_every_method_of_a_gateway_with_the_same_signature(
    kind: type[Gateway],
) -> None:
    fakes = public_methods(kind)
    for name, method in public_methods(Gateway).items():
        signature = inspect.signature(method, eval_str=True)
        assert inspect.signature(fakes[name], eval_str=True) == signature, name
        is_async = inspect.iscoroutinefunction(inspect.unwrap(method))
        assert inspect.iscoroutinefunction(inspect.unwrap(fakes[name])) == is_async
    assert issubclass(kind, Gateway)


def test_a_rule_responds_to_its_request(gateway: FakeGateway) -> None:
    orders = gateway.on("shop", "GET", "/orders").respond(
        json=[{"id": 1}], headers={"X-Total": "1"}
    )
    response = gateway.send("shop", "GET", "/orders")
    assert isinstance(response, Response)
    assert (response.status, response.json()) == (200, [{"id": 1}])
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-total"] == "1"
    assert (response.cause, response.remedy) == (None, None)
    assert response.raise_for_cause() is response
    assert orders.sent == gateway.sent


def test_responses_come_in_order_and_the_last_is_repeated(
    gateway: FakeGateway,
) -> None:
    gateway.on("shop", "GET", "/stock").respond(503).raise_error(
        errors.TimedOut
    ).respond(json={"left": 3})
    assert gateway.send("shop", "GET", "/stock").status == 503
    with pytest.raises(errors.TimedOut):
        gateway.send("shop", "GET", "/stock")
    for _ in range(2):
        assert gateway.send("shop", "GET", "/stock").json() == {"left": 3}


def test_an_error_status_is_diagnosed_as_by_the_real_gateway(
    gateway: FakeGateway,
) -> None:
    gateway.on("shop", "GET", "/orders").respond(401)
    response = gateway.send("shop", "GET", "/orders")
    assert response.cause is Cause.INVALID_CREDENTIALS
    assert response.remedy
    with pytest.raises(errors.BadResponse) as caught:
        response.raise_for_cause()
    assert caught.value.status == 401


def test_five_refusals_do_not_pause_a_fake(gateway: FakeGateway) -> None:
    gateway.on("shop", "GET", "/orders").respond(401)
    for _ in range(7):
        assert gateway.send("shop", "GET", "/orders").status == 401
    gateway.on("shop", "GET", "/").respond(401)
    assert not gateway.test("shop").ok


def test_an_error_can_be_raised_many_times_with_its_facts(
    gateway: FakeGateway,
) -> None:
    error = errors.RateLimited(field="limits.requests_per_minute")
    gateway.on("shop").raise_error(error)
    lengths = set()
    for _ in range(3):
        with pytest.raises(errors.RateLimited) as caught:
            gateway.send("shop", "GET", "/orders")
        assert caught.value is error
        assert caught.value.retryable
        lengths.add(len(caught.traceback))
    assert len(lengths) == 1  # the traceback does not grow


def test_only_errors_that_a_gateway_raises_can_be_raised(
    gateway: FakeGateway,
) -> None:
    rule = gateway.on("shop")
    with pytest.raises(TypeError, match=r"errors of outkey\.errors, and not KeyError"):
        rule.raise_error(KeyError)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="raise_for_cause"):
        rule.raise_error(errors.BadResponse)


def test_a_function_responds(gateway: FakeGateway) -> None:
    def order(request: FakeRequest) -> object:
        number = int(request.path.rpartition("/")[2])
        if number > 2:
            return make_response(404, json={"error": "no such order"})
        if number == 0:
            raise errors.TimedOut
        return {"id": number}

    gateway.on("shop", "GET", re.compile(r"/orders/\d+")).respond_with(order)
    assert gateway.send("shop", "GET", "/orders/2").json() == {"id": 2}
    assert gateway.send("shop", "GET", "/orders/3").cause is Cause.NOT_FOUND
    with pytest.raises(errors.TimedOut):
        gateway.send("shop", "GET", "/orders/0")
    with pytest.raises(UnexpectedRequest):
        gateway.send("shop", "GET", "/orders/2/lines")


def test_a_function_may_send_itself(gateway: FakeGateway) -> None:
    gateway.on("other", "GET", "/rate").respond(json={"rate": 2})
    gateway.on("shop", "GET", "/price").respond_with(
        lambda _request: gateway.send("other", "GET", "/rate")
    )
    assert gateway.send("shop", "GET", "/price").json() == {"rate": 2}


def test_a_function_must_return_something(gateway: FakeGateway) -> None:
    gateway.on("shop").respond_with(lambda _request: None)
    with pytest.raises(TypeError, match="no response"):
        gateway.send("shop", "GET", "/")


def test_asend_works_and_takes_async_functions(gateway: FakeGateway) -> None:
    async def wait(request: FakeRequest) -> object:
        await asyncio.sleep(0)
        return {"path": request.path}

    async def program() -> list[object]:
        async with gateway:
            sends = [gateway.asend("shop", "GET", f"/{name}") for name in "ab"]
            return [response.json() for response in await asyncio.gather(*sends)]

    gateway.on("shop", "GET", "/a").respond(json=1)
    gateway.on("shop", "GET", "/b").respond_with(wait)
    assert asyncio.run(program()) == [1, {"path": "/b"}]
    with pytest.raises(TypeError, match="asend only"):
        gateway.send("shop", "GET", "/b")


@pytest.mark.parametrize(
    ("pattern", "sent"),
    [
        ({"params": {"page": 2}}, {"params": {"page": "2", "size": 9}}),
        ({"params": {"tag": ["a", "b"]}}, {"params": {"tag": ("a", "b")}}),
        ({"params": {"all": True}}, {"params": {"all": True}}),
        ({"params": {"at": ANY}}, {"params": {"at": "2026-01-01"}}),
        ({"json": {"id": ANY, "n": [1]}}, {"json": {"id": 7, "n": (1,)}}),
        ({"json": {"a": 1}}, {"data": b'{"a": 1}'}),
        ({"data": {"a": 1}}, {"data": {"a": "1"}}),
        ({"data": "text"}, {"data": b"text"}),
        ({"data": b"\xff"}, {"data": b"\xff"}),
        ({"headers": {"x-trace": "7"}}, {"headers": {"X-Trace": "7"}}),
        ({"headers": {"X-Key": Secret("a")}}, {"headers": {"X-Key": Secret("b")}}),
        ({"where": lambda request: request.json["total"] > 5}, {"json": {"total": 6}}),
    ],
)
def test_a_pattern_matches(
    gateway: FakeGateway, pattern: dict[str, object], sent: dict[str, object]
) -> None:
    gateway.on("shop", "POST", "/orders", **pattern).respond(201)  # type: ignore[arg-type]
    assert gateway.send("shop", "POST", "/orders", **sent).status == 201  # type: ignore[arg-type]
    gateway.assert_sent("shop", "POST", "/orders", times=1, **pattern)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "sent", "reason"),
    [
        ({"params": {"page": 2}}, {"params": {"page": 3}}, "parameter page is '3'"),
        ({"params": {"page": 2}}, {}, "the parameter page is missing"),
        ({"json": {"a": 1}}, {"json": {"a": 2}}, 'the body is json {"a": 2}'),
        ({"json": {"a": 1}}, {}, "the body is empty"),
        ({"data": b""}, {"data": "text"}, 'the body is text "text"'),
        ({"headers": {"X-A": "1"}}, {}, "the header X-A is missing"),
        ({"headers": {"X-A": "1"}}, {"headers": {"x-a": "2"}}, "header X-A is '2'"),
        ({"where": lambda _request: False}, {}, "<lambda> returns False"),
    ],
)
def test_a_mismatch_is_explained(
    gateway: FakeGateway,
    pattern: dict[str, object],
    sent: dict[str, object],
    reason: str,
) -> None:
    gateway.on("shop", "POST", "/orders", **pattern).respond(201)  # type: ignore[arg-type]
    with pytest.raises(UnexpectedRequest) as caught:
        gateway.send("shop", "POST", "/orders", **sent)  # type: ignore[arg-type]
    assert reason in str(caught.value)


def test_an_unexpected_request_says_what_was_expected_and_what_came(
    gateway: FakeGateway,
) -> None:
    gateway.on("shop", "GET", "/orders", params={"page": 1}).respond(json=[])
    gateway.on("shop", "POST", re.compile("/orders/.*")).respond(201)
    gateway.on("bank").respond()
    with pytest.raises(AssertionError) as caught:
        gateway.send("shop", "GET", "/orders?page=2", headers={"X-Trace": "7"})
    assert str(caught.value) == (
        "no rule for the request shop GET /orders?page=2, headers {'X-Trace': '7'}\n"
        "The rules, newest first:\n"
        "  1. bank any method any path\n"
        "       but the configuration is shop\n"
        "  2. shop POST matching /orders/.*\n"
        "       but the method is GET, and the path is /orders\n"
        "  3. shop GET /orders, params {'page': '1'}\n"
        "       but the parameter page is '2'\n"
        'Add one with: gateway.on("shop", "GET", "/orders").respond(...)'
    )
    with pytest.raises(AssertionError, match=r"There are no rules\."):
        FakeGateway().send("shop", "GET", "/")


def test_a_rule_without_a_response_says_so(gateway: FakeGateway) -> None:
    gateway.on("shop", "GET", "/orders")
    with pytest.raises(UnexpectedRequest, match="no response yet: call respond"):
        gateway.send("shop", "GET", "/orders")


def test_times_limits_a_rule(gateway: FakeGateway) -> None:
    gateway.on("shop", "POST").respond(201)
    gateway.on("shop", "POST", "/orders", times=1).respond(202)
    assert gateway.send("shop", "POST", "/orders").status == 202
    assert gateway.send("shop", "POST", "/orders").status == 201  # of the other rule
    gateway.on("bank", "POST", "/payments", times=1).respond(202)
    gateway.send("bank", "POST", "/payments")
    with pytest.raises(UnexpectedRequest, match="it has responded once already"):
        gateway.send("bank", "POST", "/payments")


def test_the_newest_rule_responds_and_replaces_one_for_the_same_requests(
    gateway: FakeGateway,
) -> None:
    gateway.on("shop", "GET", "/orders").respond(json=[1])
    gateway.on("shop", "GET", "/orders", params={"page": 2}).respond(json=[2])
    gateway.on("shop", "GET", "/orders").respond(json=[3])
    assert gateway.send("shop", "GET", "/orders", params={"page": 2}).json() == [3]
    with pytest.raises(AssertionError) as caught:
        gateway.assert_all_used()
    assert str(caught.value) == (
        "responses that were not used:\n"
        "  1. shop GET /orders, params {'page': '2'}: never sent"
    )


def test_assert_all_used_counts_every_response(gateway: FakeGateway) -> None:
    gateway.on("shop", "GET", "/orders").respond(503).respond(200)
    gateway.send("shop", "GET", "/orders")
    with pytest.raises(AssertionError, match="shop GET /orders: sent once of 2"):
        gateway.assert_all_used()
    gateway.send("shop", "GET", "/orders")
    gateway.assert_all_used()


def test_what_was_sent_has_no_credentials(gateway: FakeGateway) -> None:
    gateway.on("shop").respond()
    gateway.send(
        "shop",
        "POST",
        "/orders/a b",
        params={"tag": ["x", "y"], "n": 1},
        json={"article": 7},
        headers={"X-Trace": "7", "X-Own": Secret("hidden")},
    )
    [request] = gateway.sent
    assert (request.configuration, request.method) == ("shop", "POST")
    assert (request.path, request.query) == ("/orders/a%20b", "tag=x&tag=y&n=1")
    assert request.params == {"tag": ["x", "y"], "n": "1"}
    assert request.json == {"article": 7}
    assert (request.text, request.form) == ('{"article": 7}', None)
    assert dict(request.headers) == {
        "Content-Type": "application/json",
        "X-Trace": "7",
        "X-Own": "***",
    }
    gateway.send("shop", "POST", "/form", data={"a": 1})
    assert gateway.sent[1].form == {"a": "1"}
    assert gateway.sent[1].json is None


def test_assert_sent_returns_what_matches(gateway: FakeGateway) -> None:
    gateway.on("shop").respond()
    for number in range(3):
        gateway.send("shop", "GET", f"/orders/{number}")
    assert len(gateway.assert_sent()) == 3
    assert len(gateway.assert_sent("shop", path=re.compile("/orders/[01]"))) == 2
    gateway.assert_sent("shop", "DELETE", times=0)
    with pytest.raises(AssertionError) as caught:
        gateway.assert_sent("shop", "get", "/orders/2", times=2)
    assert str(caught.value) == (
        "expected twice: shop GET /orders/2\n"
        "matched: once\n"
        "Sent, oldest first:\n"
        "  1. shop GET /orders/0\n"
        "       but the path is /orders/0\n"
        "  2. shop GET /orders/1\n"
        "       but the path is /orders/1\n"
        "  3. shop GET /orders/2"
    )
    gateway.reset()
    with pytest.raises(AssertionError, match=r"Nothing was sent\."):
        gateway.assert_sent("shop")


@pytest.mark.parametrize(
    ("arguments", "options", "field"),
    [
        (("shop", "G ET", "/"), {}, "method"),
        (("shop", "TRACE", "/"), {}, "method"),
        (("shop", "GET", "/a#b"), {}, "path"),
        (("shop", "GET", "/"), {"params": {"a": None}}, "params"),
        (("shop", "POST", "/"), {"json": 1, "data": "2"}, "data"),
        (("shop", "POST", "/"), {"data": 7}, "data"),
        (("shop", "GET", "/"), {"headers": {"Host": "x"}}, "headers"),
        (("shop", "GET", "/"), {"headers": {"X": "a\nb"}}, "header:X"),
        (("shop", "GET", "/"), {"headers": {"Authorization": "x"}}, None),
    ],
)
def test_it_refuses_what_the_real_gateway_refuses(
    gateway: FakeGateway,
    arguments: tuple[str, str, str],
    options: dict[str, object],
    field: str | None,
) -> None:
    gateway.on("shop").respond()
    with pytest.raises(errors.ConfigError) as caught:
        gateway.send(*arguments, **options)  # type: ignore[arg-type]
    if field:
        assert caught.value.field == field
    else:
        assert isinstance(caught.value, errors.HeaderConflict)
    assert gateway.sent == []


def test_an_unknown_option_is_refused(gateway: FakeGateway) -> None:
    with pytest.raises(TypeError, match="jsn"):
        gateway.on("shop", jsn={})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="jsn"):
        gateway.send("shop", "GET", "/", jsn={})  # type: ignore[call-arg]


def test_a_function_decides_only_about_requests_that_match_otherwise(
    gateway: FakeGateway,
) -> None:
    def is_dear(request: FakeRequest) -> bool:
        rate = gateway.send("bank", "GET", "/rate").json()
        return request.json["total"] * rate > 100  # type: ignore[index, no-any-return]

    gateway.on("shop", "GET").respond(json=[])
    gateway.on("bank", "GET", "/rate").respond(json=2)
    gateway.on("shop", "POST", "/orders", where=is_dear).respond(201)
    assert gateway.send("shop", "GET", "/orders").json() == []  # it has no total
    assert gateway.send("shop", "POST", "/orders", json={"total": 60}).status == 201
    with pytest.raises(UnexpectedRequest, match="is_dear returns False"):
        gateway.send("shop", "POST", "/orders", json={"total": 40})


def test_without_a_document_links_to_any_origin_and_lines_are_followed(
    gateway: FakeGateway,
) -> None:
    gateway.on("shop", "GET", "/v2/orders", params={"page": 2}).respond(json=[])
    link = "https://shop.example/v2/orders?page=2"
    assert gateway.send("shop", "GET", link, line="orders").json() == []
    gateway.assert_sent("shop", "GET", link)
    gateway.on("shop", "GET", "/local").respond(json=1)
    assert gateway.send("shop", "GET", "http://127.0.0.1:9/local").json() == 1


def test_with_a_document_only_its_names_and_origins_are_known(
    known: FakeGateway,
) -> None:
    known.on("shop", "GET", "/orders").respond(json=[])
    assert known.send("shop", "GET", "/orders", line="orders").json() == []
    known.send("shop", "GET", "https://shop.example/v2/orders?page=2")
    assert known.sent[1].path == "/orders"
    known.assert_sent(path="/orders", times=2)
    with pytest.raises(errors.UnknownConfiguration):
        known.send("shpo", "GET", "/orders")
    with pytest.raises(errors.UnknownConfiguration):
        known.on("shpo", "GET", "/orders")
    with pytest.raises(errors.UnknownConfiguration):
        known.on("shpo")
    with pytest.raises(errors.ConfigError, match="another origin"):
        known.send("shop", "GET", "https://other.example/orders")
    with pytest.raises(errors.ConfigError, match="another configuration"):
        known.send("login", "GET", "/orders", line="orders")
    with pytest.raises(errors.InactiveConfiguration):
        known.send("off", "GET", "/orders")
    with pytest.raises(errors.HeaderConflict):
        known.send("shop", "GET", "/orders", headers={"X-Tenant": "8"})


@pytest.mark.parametrize("name", ["shop", "login", "digest"])
def test_previews_tests_and_loans_work_without_network_and_secrets(
    known: FakeGateway, name: str
) -> None:
    known.on(name, "GET", "/").respond(json={"user": "me"}).respond(403)
    report = known.test(name)
    assert (report.ok, report.status) == (True, 200)
    assert [step.step for step in report.steps][-2:] == ["connect", "request"]
    assert not known.test(name).ok
    assert len(known.sent) == 2  # the comparison without credentials is not counted
    assert "***" in str(known.preview(name).headers)


def test_a_test_reports_the_error_of_a_rule(gateway: FakeGateway) -> None:
    gateway.on("shop", "GET", "/").raise_error(errors.DnsFailed)
    report = gateway.test("shop")
    assert (report.ok, report.cause) == (False, Cause.DNS)

    async def wait(_request: FakeRequest) -> object:
        return {}

    gateway.on("shop", "GET", "/").respond_with(wait)
    with pytest.raises(TypeError, match="asend only"):
        gateway.test("shop")


def test_another_http_client_gets_made_up_credentials(
    gateway: FakeGateway, known: FakeGateway
) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        sent = dict(request.headers.raw)  # where only a transport finds them
        assert sent[b"Authorization"].startswith(b"Bearer ")
        return httpx.Response(200, json={"ok": True})

    transport = httpx.MockTransport(respond)
    for fake in (gateway, known):
        auth = OutkeyAuth(fake, "shop")
        with httpx.Client(auth=auth, transport=transport) as client:
            response = client.get("https://shop.example/v2/orders")
            assert response.json() == {"ok": True}
    with pytest.raises(errors.EgressDenied):
        known.lend("shop", "GET", "https://other.example/", ())


def test_it_can_be_used_from_several_threads(gateway: FakeGateway) -> None:
    rule = gateway.on("shop", "GET", "/orders")
    for number in range(200):
        rule.respond(json=number)
    with ThreadPoolExecutor(8) as pool:
        responses = pool.map(
            lambda _: gateway.send("shop", "GET", "/orders"), range(200)
        )
        numbers = {response.json() for response in responses}
    assert numbers == {*range(200)}
    assert len({*map(id, gateway.sent)}) == 200


def test_opening_functions_return_an_installed_fake(gateway: FakeGateway) -> None:
    gateway.on("shop", "GET", "/orders").respond(json=[])
    before = {name: vars(outkey).get(name) for name in ("open", "aopen", "load")}
    with gateway.installed() as installed:
        assert installed is gateway
        with outkey.open() as opened:
            assert opened.send("shop", "GET", "/orders").json() == []
        assert outkey.load("missing.toml") is gateway
        assert asyncio.run(outkey.aopen()) is gateway
        with FakeGateway().installed() as other:
            assert outkey.open() is other
        assert outkey.open() is gateway
    assert {name: vars(outkey).get(name) for name in before} == before


def test_an_error_that_was_caught_is_not_forgotten(gateway: FakeGateway) -> None:
    gateway.assert_all_expected()
    with pytest.raises(UnexpectedRequest):
        gateway.send("shop", "GET", "/orders")
    with pytest.raises(AssertionError, match=r"was caught:\n\nno rule for the request"):
        gateway.assert_all_expected()


def test_it_can_be_imported_without_pytest_django_and_extras() -> None:
    """As after `pip install outkey`."""
    absent = ("pytest", "django", "joserfc", "jmespath", "sqlalchemy", "yaml", "typer")
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({absent!r}));"
        "import outkey.testing;"
        "assert not any(m.endswith('.engine') for m in sys.modules);"
        "from outkey.testing import FakeGateway;"
        "gateway = FakeGateway(); gateway.on('a', 'GET', '/').respond(json=1);"
        "assert gateway.send('a', 'GET', '/').json() == 1; gateway.test('a')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_name_of_the_package_can_be_imported() -> None:
    import outkey.testing as kit

    for name in kit.__all__:
        assert getattr(kit, name).__doc__
    assert {*kit.__all__} <= {*dir(kit)}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kit.nothing  # noqa: B018 - that is what is tested
