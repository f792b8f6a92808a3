"""The pytest plugin, in runs of pytest of its own."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DOCUMENT = """
[configuration.shop]
base_url = "https://shop.example"
authentication_type = "bearer"
token = "env:SHOP_TOKEN"
"""


@pytest.fixture
def run(
    pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """Make the entry point of pyproject.toml known, as an installation does."""
    points = PROJECT["entry-points"]["pytest11"]
    metadata = tmp_path / "installed" / "outkey_plugin-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: outkey-plugin\nVersion: 1\n"
    )
    lines = [f"{name} = {module}" for name, module in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    monkeypatch.setenv("PYTHONPATH", str(metadata.parent))
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)
    return pytester


def test_the_fixture_is_a_gateway_that_open_returns_too(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import asyncio

        import outkey
        from outkey.testing import FakeGateway

        def fetch():
            with outkey.open() as gateway:
                return gateway.send("shop", "GET", "/orders").json()

        async def afetch():
            async with await outkey.aopen() as gateway:
                return (await gateway.asend("shop", "GET", "/orders")).json()

        def test_send(outkey_gateway):
            assert isinstance(outkey_gateway, FakeGateway)
            outkey_gateway.on("shop", "GET", "/orders").respond(json=[1])
            assert fetch() == [1]
            assert asyncio.run(afetch()) == [1]
            outkey_gateway.assert_sent("shop", "GET", "/orders", times=2)

        def test_each_test_has_its_own(outkey_gateway):
            assert outkey_gateway.sent == []
            outkey_gateway.on("shop", "GET", "/unused").respond()

        def test_without_it_open_is_the_real_one():
            assert outkey.open.__module__ == "outkey.hosts.opening"
        """
    )
    result = run.runpytest_subprocess("-W", "error")
    result.assert_outcomes(passed=3)


def test_a_request_without_a_rule_fails_the_test_once(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        def test_raised(outkey_gateway):
            outkey_gateway.send("shop", "GET", "/orders")

        def test_caught(outkey_gateway):
            try:
                outkey_gateway.send("shop", "GET", "/orders")
            except Exception:
                pass

        def test_next(outkey_gateway):
            outkey_gateway.on("shop").respond()
        """
    )
    result = run.runpytest_subprocess()
    result.assert_outcomes(passed=2, failed=1, errors=1)
    text = result.stdout.str()
    assert "ERROR at teardown of test_caught" in text
    assert "requests without a rule were sent, and the error was caught" in text
    assert "ERROR at teardown of test_raised" not in text


def test_a_project_can_name_its_document(run: pytest.Pytester) -> None:
    run.makefile(".toml", outkey=DOCUMENT)
    run.makeconftest(
        """
        import pytest

        @pytest.fixture
        def outkey_document(pytestconfig):
            return pytestconfig.rootpath / "outkey.toml"
        """
    )
    run.makepyfile(
        """
        import pytest
        from outkey import errors

        def test_names(outkey_gateway):
            outkey_gateway.on("shop").respond()
            outkey_gateway.send("shop", "GET", "/orders")
            with pytest.raises(errors.UnknownConfiguration):
                outkey_gateway.send("other", "GET", "/orders")
        """
    )
    run.runpytest_subprocess("-W", "error").assert_outcomes(passed=1)


def test_the_fixture_is_listed_with_its_explanation(run: pytest.Pytester) -> None:
    run.makepyfile("def test(): pass")
    result = run.runpytest_subprocess("--fixtures")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*outkey_gateway*", "*FakeGateway*"])


def test_a_project_that_does_not_use_it_loads_nothing_of_outkey(
    run: pytest.Pytester,
) -> None:
    run.makeconftest(
        """
        import sys

        def pytest_sessionfinish():
            loaded = {name for name in sys.modules if name.startswith("outkey")}
            print("loaded:", sorted(loaded))
        """
    )
    run.makepyfile("def test(): pass")
    result = run.runpytest_subprocess("-s", "-W", "error")
    result.assert_outcomes(passed=1)
    loaded = ["outkey", "outkey.testing", "outkey.testing.pytest_plugin"]
    result.stdout.fnmatch_lines([f"*loaded: {loaded}".replace("[", "[[]")])


def test_it_can_be_switched_off(run: pytest.Pytester) -> None:
    run.makepyfile("def test(outkey_gateway): pass")
    result = run.runpytest_subprocess("-p", "no:outkey")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'outkey_gateway' not found*"])
