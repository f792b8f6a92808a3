"""The commands of presets, and renaming."""

from cli.conftest import Terminal

METABASE = ("new", "reports", "--preset", "metabase", "--method", "api_key")


def test_presets_are_listed_searched_and_shown(outkey: Terminal) -> None:
    listed = outkey("preset", "list", "--json").json
    assert len(listed) >= 100
    keys = {"name", "title", "methods", "checked", "ends", "successor"}
    assert {*listed[0]} == keys
    assert "stripe" in {preset["name"] for preset in listed}
    found = outkey("preset", "list", "weather").out
    assert "OpenWeather" in found
    assert "Stripe" not in found
    assert "No preset" in outkey("preset", "list", "nothing-like-this").out
    shown = outkey("preset", "show", "metabase")
    assert "--set host=" in shown.out
    assert "outkey new metabase --preset metabase" in shown.out
    methods = outkey("preset", "show", "metabase", "--json").json["methods"]
    assert "api_key" in methods
    assert outkey("preset", "show", "stripes").code == 2


def test_a_preset_says_where_each_fact_is_from_what_ends_and_how_to_rotate(
    outkey: Terminal,
) -> None:
    shown = outkey("preset", "show", "zendesk").out
    assert "ends on 2027-04-30; instead: OAuth 2.0, client credentials" in shown
    assert "from a public catalogue of providers" in shown
    assert "providers.yaml of @nangohq/providers 0.71.10: zendesk" in shown
    assert "API token (ends on 2027-04-30)" in outkey("preset", "list", "zendesk").out
    facts = outkey("preset", "show", "databricks", "--json").json
    assert facts["rotation"]["at_once"] == 5
    assert facts["facts"]["token_url"]["known"] in {"documentation", "catalogue"}
    assert "at most 5 at the same time" in outkey("preset", "show", "databricks").out
    old = outkey("preset", "show", "zendesk", "--json").json["methods"]["api_token"]
    assert (old["ends"], old["successor"][:5]) == ("2027-04-30", "OAuth")


def test_the_doctor_warns_before_a_method_of_a_provider_ends(outkey: Terminal) -> None:
    made = outkey(
        *("new", "desk", "--preset", "zendesk", "--method", "api_token"),
        *("--set", "subdomain=acme", "--set", "email=a@acme.example"),
    )
    assert made.code == 0
    found = outkey("doctor", "--json").json
    assert "P-preset-ends" in {finding["id"] for finding in found["findings"]}


def test_a_configuration_is_created_from_a_preset(outkey: Terminal) -> None:
    missing = outkey(*METABASE)
    assert missing.code == 2
    assert "Host must not be empty" in missing.err
    assert "Write it as: outkey new reports --preset metabase" in missing.err
    assert " --set host=" in missing.err
    created = outkey(*METABASE, "--set", "host=bi.acme.example")
    assert created.code == 0
    assert "outkey secret set reports header:x-api-key" in created.out
    shown = outkey("show", "reports", "--json").json
    assert shown["base_url"] == "https://bi.acme.example/api"
    assert (shown["preset"], shown["authentication_type"]) == ("metabase", "none")
    assert outkey(*METABASE, "--set", "host=bi.acme.example").code == 2
    spaced = outkey("new", "my api", "--preset", "stripe").out
    assert "next: outkey secret set 'my api' token\n" in spaced
    assert "then: outkey test 'my api'\n" in spaced
    again = outkey("new", "two", "--preset", "stripe", "--json", stdin="")
    assert again.json["secrets"].keys() == {"token"}


def test_a_secret_that_is_never_stored_is_set_by_a_reference(outkey: Terminal) -> None:
    options = ("--set", "tenant=acme.example", "--set", "client_id=c")
    preset = ("--preset", "microsoft_graph", "--method", "federated")
    command = "outkey secret set graph client_assertion --from file:PATH"
    assert f"next: {command}\n" in outkey("new", "graph", *preset, *options).out
    assert f"Enter it: {command}" in outkey("test", "graph").err


def test_a_variable_that_cannot_be_meant_is_refused(outkey: Terminal) -> None:
    for setting in ("host", "host=a=b c", "other=x"):
        assert outkey(*METABASE, "--set", setting).code == 2
    twice = outkey(*METABASE, "--set", "host=a", "--set", "host=b")
    assert twice.code == 2
    assert outkey("list", "--json").json == []


def test_a_configuration_is_renamed_with_its_lines(ready: Terminal) -> None:
    assert ready("rename", "acme", "crm").out == "renamed: acme → crm\n"
    assert ready("rename", "crm", "crm").code == 0
    assert ready("show", "acme").code == 2
    assert ready("request", "crm", "/echo").code == 0
    assert ready("rename", "crm", "").code == 2
    assert ready("rename", "nothing", "x").code == 2
    assert ready("rename", "crm", "acme", "--json").json == {
        "done": "renamed",
        "configuration": "acme",
    }
    assert ready("audit", "verify").code == 0


def test_a_preset_is_found_by_its_method_or_in_spite_of_a_typo(
    outkey: Terminal,
) -> None:
    assert "twilio" in outkey("preset", "list", "twilio basic").out
    assert "Did you mean stripe" in outkey("preset", "list", "stirpe").out
    assert "Did you mean stripe?" in outkey("preset", "show", "stirpe").err
    shown = outkey("preset", "show", "stripe").out
    assert "from the provider's documentation" in shown
    with_default = outkey("preset", "show", "xero").out
    assert "Default:" in outkey("preset", "show", "mailgun").out + with_default
