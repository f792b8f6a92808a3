import json
import random
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from outkey.administration.adapters.policy_file import read_policy
from outkey.administration.adapters.preset_files import PresetFiles
from outkey.administration.core.findings.monitoring import health_conditions
from outkey.administration.core.findings.posture import (
    CONFIGURATION_CHECKS,
    INSTALLATION_CHECKS,
    POSTURE_CHECKS,
    ROTATION_CHECKS,
    ConfigurationFacts,
    InstallationFacts,
    configuration_posture,
    facts_from_settings,
    installation_posture,
)
from outkey.administration.core.policy.blocking import refuse_blocked
from outkey.administration.core.policy.parsing import parse_policy
from outkey.administration.core.policy.policy import Policy
from outkey.administration.engine.watching.audit_trail import AuditTrail
from outkey.administration.engine.watching.doctor import Doctor
from outkey.foundation.core.endings import Ending
from outkey.foundation.core.errors import ConfigError, PolicyError, ScriptFailed
from outkey.foundation.core.findings.checks import Finding, Level
from outkey.foundation.core.moments import day_of
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.audit.chain import (
    ChainRow,
    RowCodes,
    canonical,
    label_of,
    sign_checkpoint,
    sign_sighting,
)
from outkey.sending.core.audit.events import Change, Durability, Outcome, Tag
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.custom_rows import CustomHeader
from outkey.sending.core.configuration.health import Health, Summary
from outkey.sending.core.configuration.reference import Reference, Store
from outkey.sending.core.configuration.secret_state import SecretState
from outkey.sending.core.request.script import ScriptCall
from outkey.sending.core.rotation.credential_sets import (
    CredentialSet,
    CredentialSets,
    CredentialTrial,
)
from outkey.testing import configuration
from outkey.testing.fakes.basic import (
    FakeScripts,
    MemoryAuditRows,
    MemoryCheckpoints,
    MemorySecrets,
)
from outkey.testing.fakes.storage import memory_registry
from outkey.testing.fakes.vouching import FakeVouchedRows

NOW = 1_800_000_000.0  # 2027-01-15
DAY = 86_400
SOUND = {
    "authentication_type": "bearer",
    "token_expires_on": date(2028, 1, 1),
    "tls__minimum_version": "1.3",
    "limits__requests_per_minute": 60,
}
FACTS = {"tls": "TLSv1.3", "certificate_ends": NOW + 90 * DAY, "offered": ["Bearer"]}
TESTED = Health(
    NOW - DAY, NOW - DAY, current=True, expires_on=date(2028, 1, 1), seen=FACTS
)
ORIGIN = "https://api.acme.example"


def soundly(values: dict[str, object]) -> dict[str, object]:
    """Return the values of a sound configuration with changes; None omits one."""
    return {
        name: value for name, value in (SOUND | values).items() if value is not None
    }


def sound(*, headers: tuple[CustomHeader, ...] = (), **values: object) -> Configuration:
    made = configuration(headers=headers, **soundly(values))
    return replace(made, secrets={"token": SecretState(ORIGIN, set_at=NOW - 10 * DAY)})


def subject(made: Configuration | None = None, **known: object) -> ConfigurationFacts:
    facts = {"now": NOW, "health": TESTED, "used_at": NOW - DAY} | known
    return replace(facts_from_settings(made or sound()), **facts)  # type: ignore[arg-type]


def saw(**facts: object) -> Health:
    return replace(TESTED, seen=FACTS | facts)


def referenced(variable: str) -> Configuration:
    reference = Reference(Store.ENV, variable)
    return replace(sound(), secrets={"token": SecretState(ORIGIN, reference)})


OVERLAP = CredentialSets(2, 2, previous=CredentialSet(1), until=NOW)
STAGED = CredentialSets(newest=2, next=CredentialSet(2, set_at=NOW - 7 * DAY))


ROTATED_DAILY = sound(rotation__rotate_after_days=1).rotation


def in_sets(sets: CredentialSets) -> Configuration:
    return replace(sound(), sets=sets)


BY_OAUTH = {"token_source": "oauth2", "oauth2__client_id": "erp"}
OPEN = {"authentication_type": "none", "token_expires_on": None}
PLANTED: list[tuple[ConfigurationFacts, str, str | None]] = [
    (
        subject(sound(base_url="http://a.example", network="internal")),
        "P-plain-http",
        "base_url",
    ),
    (
        subject(sound(**BY_OAUTH, oauth2__token_url="http://a.example/t")),
        "P-plain-http",
        "oauth2.token_url",
    ),
    (subject(health=saw(tls="TLSv1.1")), "P-old-tls", "base_url"),
    (subject(health=saw(tls="TLSv1.2")), "P-tls-1-2", "base_url"),
    (subject(sound(tls__minimum_version="1.2")), "P-tls-floor", "tls.minimum_version"),
    (subject(health=saw(certificate_ends=NOW - DAY)), "P-certificate-1", "base_url"),
    (
        subject(health=saw(certificate_ends=NOW + 0.9 * DAY)),
        "P-certificate-1",
        "base_url",
    ),
    (
        subject(health=saw(certificate_ends=NOW + 6 * DAY)),
        "P-certificate-7",
        "base_url",
    ),
    (
        subject(health=saw(certificate_ends=NOW + 29 * DAY)),
        "P-certificate-30",
        "base_url",
    ),
    (subject(set_at={"token": NOW - 366 * DAY}), "P-old-secret", "token"),
    (subject(shared={"token": "shop"}), "P-shared-secret", "token"),
    (
        subject(health=replace(TESTED, expires_on=date(2027, 2, 1))),
        "P-token-ends",
        "token_expires_on",
    ),
    (subject(endless=True), "P-no-expiry", "token_expires_on"),
    (
        subject(sound(rotation__rotate_after_days=9)),
        "P-rotation-overdue",
        "rotation.rotate_after_days",
    ),
    (subject(in_sets(OVERLAP)), "P-rotation-open", "rotation.overlap_days"),
    (subject(in_sets(STAGED)), "P-rotation-stuck", None),
    (subject(in_sets(replace(STAGED, cause="tls"))), "P-rotation-stuck", None),
    (subject(sound(**OPEN)), "P-unprotected", "authentication_type"),
    (
        subject(sound(authentication_type="basic", username="u")),
        "P-basic-where-bearer",
        "authentication_type",
    ),
    (
        subject(sound(headers=(CustomHeader("X-API-Key", "k", secret=False),))),
        "P-secret-in-clear",
        "header:X-API-Key",
    ),
    (
        subject(sound(oauth2__extra={"api_key": "7"})),
        "P-secret-in-clear",
        "oauth2.extra",
    ),
    (
        subject(sound(verification__test_path="/me?page=1&api_key=7")),
        "P-key-in-query",
        "verification.test_path",
    ),
    (subject(referenced("sk_live_51H8abc")), "P-key-as-reference", "token"),
    (subject(referenced("q8ZkP2vXw7LmN4tR9sYb")), "P-key-as-reference", "token"),
    (
        subject(sound(limits__requests_per_minute=None)),
        "P-no-rate-limit",
        "limits.requests_per_minute",
    ),
    (subject(sound(active=False)), "P-inactive-secret", "active"),
    (
        subject(health=replace(TESTED, verified_at=None)),
        "P-never-verified",
        "verification.test_path",
    ),
    (subject(used_at=NOW - 91 * DAY), "P-unused", None),
    (
        subject(
            sound(preset="stripe", preset_day=date(2026, 1, 1)),
            preset_corrected=date(2026, 1, 2),
        ),
        "P-preset-corrected",
        "preset",
    ),
    (
        subject(preset_ending=Ending(day_of(NOW + 180 * DAY), "OAuth 2.0")),
        "P-preset-ends",
        "preset",
    ),
    (subject(failed=True), "P-failing", None),
    (subject(health=replace(TESTED, cause="invalid_credentials")), "P-failing", None),
    (subject(health=replace(TESTED, refused=3)), "P-failing", None),
]
WELL = InstallationFacts(NOW, Policy())
BROKEN: list[tuple[InstallationFacts, str]] = [
    (replace(WELL, storage=False), "P-database"),
    (replace(WELL, key_readable=True), "P-key-readable"),
    (replace(WELL, sealed=True), "P-sealed"),
    (replace(WELL, on_hold=True), "P-on-hold"),
    (replace(WELL, changed_rows="line:orders"), "P-rows-changed"),
    (replace(WELL, readable=("data",)), "P-files-readable"),
    (replace(WELL, scripts_locked=False), "P-scripts"),
    (replace(WELL, tls_library="OpenSSL 1.0.2"), "P-tls-library"),
    (replace(WELL, token_problems=(Text("ci: x"),)), "P-token-owner"),
    (replace(WELL, future_times=(Text("deliveries"),)), "P-future-time"),
    (replace(WELL, odd_rows=("pair orders",)), "P-odd-row"),
    (replace(WELL, triggers=("t (outkey_run)",)), "P-trigger"),
    (replace(WELL, backend_file=Text("it is not TOML")), "P-backend-file"),
    (replace(WELL, without_backend=("acme",)), "P-backend-unknown"),
    (replace(WELL, plain_backends=("main",)), "P-backend-plain"),
    (replace(WELL, first_bad="k.p:7"), "P-audit-broken"),
    (replace(WELL, tail=3), "P-audit-tail"),
    (replace(WELL, oldest=NOW - 402 * DAY), "P-audit-kept"),
]


@pytest.mark.parametrize(("planted", "check", "field"), PLANTED)
def test_a_planted_weakness_is_found_and_nothing_else(
    planted: ConfigurationFacts, check: str, field: str | None
) -> None:
    (found,) = configuration_posture(planted)
    assert (found.id, found.field) == (check, field)
    assert found.hint


@pytest.mark.parametrize(("planted", "check"), BROKEN)
def test_a_weakness_of_the_installation_is_found_and_nothing_else(
    planted: InstallationFacts, check: str
) -> None:
    assert [found.id for found in installation_posture(planted)] == [check]


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({"failed": True}, ["the last requests failed, one after the other"]),
        (
            {"health": replace(TESTED, refused=4)},
            ["the API refused the credentials 4 times in a row"],
        ),
        ({"health": replace(TESTED, refused=2)}, []),
        (
            {"health": replace(TESTED, cause="tls")},
            ["the last test failed (tls, 2027-01-14)"],
        ),
        ({"health": replace(TESTED, tested_at=NOW - 3000, cause="tls")}, []),
        ({"health": replace(TESTED, current=False, cause="tls")}, []),
    ],
)
def test_what_fails_once_is_no_weakness_and_why_it_fails_is_told(
    known: dict[str, object], why: list[str]
) -> None:
    found = configuration_posture(subject(**known))
    assert [f.message for f in found] == [
        f"the configuration fails repeatedly: {text}" for text in why
    ]


def test_every_check_has_a_weakness_that_it_finds() -> None:
    assert {check.id for check in CONFIGURATION_CHECKS} == {
        check for _, check, _ in PLANTED
    }
    assert {check.id for check in INSTALLATION_CHECKS} == {check for _, check in BROKEN}
    assert len({check.id for check in POSTURE_CHECKS}) == len(POSTURE_CHECKS)


@pytest.mark.parametrize(
    "made",
    [
        sound(),
        sound(**BY_OAUTH, oauth2__token_url="https://a.example/t"),
        sound(**OPEN, no_auth_reason="public_api"),
        sound(**OPEN, headers=(CustomHeader("X-API-Key", "", secret=True),)),
        sound(**OPEN, tls__client_certificate="/some/file.pem"),
        sound(**OPEN, script="def compute_auth_header(sync_line):\n    return {}\n"),
        sound(**OPEN, network="internal"),
        referenced("ACME_TOKEN"),
        referenced("PRODUCTION_ACME_API_KEY_2027"),
        sound(rotation__rotate_after_days=10),
        replace(referenced("ACME_TOKEN"), rotation=ROTATED_DAILY),
        in_sets(replace(OVERLAP, until=NOW + 1)),
        in_sets(replace(STAGED, next=CredentialSet(2, set_at=NOW - 6 * DAY))),
        in_sets(replace(STAGED, trial=CredentialTrial(10, 20, NOW - 7 * DAY))),
        replace(
            sound(),
            secrets={"token": SecretState(ORIGIN, Reference(Store.FILE, "/run/x"))},
        ),
    ],
)
def test_a_sound_configuration_has_no_findings(made: Configuration) -> None:
    assert configuration_posture(subject(made)) == []


def test_where_nothing_is_known_nothing_is_said() -> None:
    assert configuration_posture(facts_from_settings(sound())) == []
    columns = replace(
        facts_from_settings(sound()), configuration=None, health=Health(0.0, 0.0)
    )
    assert configuration_posture(columns) == []
    assert installation_posture(replace(WELL, oldest=NOW - 400 * DAY)) == []


def test_a_command_in_a_hint_has_the_name_of_the_configuration() -> None:
    made = replace(sound(), name="my shop")
    (finding,) = configuration_posture(subject(made, health=Health()))
    assert finding.id == "P-never-verified"
    assert finding.hint == "Test it: outkey test 'my shop'."
    assert finding.hint.translate_with(lambda _: "Testen: {name}") == (
        "Testen: 'my shop'"
    )


@pytest.mark.parametrize("hours", range(-30, 31 * 24, 7))
def test_doctor_and_monitoring_agree_on_how_near_a_certificate_ends(hours: int) -> None:
    health = saw(certificate_ends=NOW + hours * 3600)
    ids = [finding.id for finding in configuration_posture(subject(health=health))]
    summary = Summary("acme", "https://a.example", "bearer", "", "", "", health)
    kinds = [condition.kind for condition in health_conditions(summary, NOW)]
    ended = {"S-certificate-ends-0": "P-certificate-1"}
    assert ids == [
        ended.get(kind, kind.replace("S-certificate-ends", "P-certificate"))
        for kind in kinds
    ]


def test_what_is_found_about_a_rotation_tells_the_commands_to_run() -> None:
    waiting = replace(in_sets(STAGED), name="my shop")
    (finding,) = configuration_posture(subject(waiting), ROTATION_CHECKS)
    assert finding.message.endswith("for a week: set on 2027-01-08")
    assert "outkey rotation start 'my shop'" in finding.hint
    overdue = subject(sound(rotation__rotate_after_days=9), failed=True)
    (finding,) = configuration_posture(overdue, ROTATION_CHECKS)
    assert "outkey secret stage acme FIELD" in finding.hint


def test_the_worst_comes_first() -> None:
    made = sound(
        tls__minimum_version="1.2", base_url="http://a.example", network="internal"
    )
    levels = [
        f.level
        for f in configuration_posture(subject(made, health=saw(certificate_ends=NOW)))
    ]
    assert levels == [Level.ERROR, Level.WARNING, Level.NOTICE]


def test_a_blocking_check_is_an_error_in_its_environment_only() -> None:
    policy = parse_policy('secret_days = 5\n[production]\nblocking = ["P-old-secret"]')
    (found,) = configuration_posture(subject(policy=policy))
    assert (found.id, found.level) == ("P-old-secret", Level.ERROR)
    (found,) = configuration_posture(subject(sound(environment="test"), policy=policy))
    assert found.level is Level.WARNING


def test_what_the_policy_blocks_is_refused_by_what_a_configuration_says_itself() -> (
    None
):
    policy = parse_policy(
        '[production]\nblocking = ["P-no-rate-limit", "P-never-verified"]'
    )
    free = sound(limits__requests_per_minute=None)
    refuse_blocked(Policy(), [free])
    refuse_blocked(
        policy, [sound(), replace(free, environment="test"), referenced("sk_live_7")]
    )  # type: ignore[arg-type]
    with pytest.raises(PolicyError) as caught:
        refuse_blocked(policy, [sound(), free])
    assert caught.value.field == "limits.requests_per_minute"
    assert "the policy for production blocks P-no-rate-limit" in caught.value.message
    assert (caught.value.code, bool(caught.value.hint)) == ("policy", True)


@pytest.mark.parametrize(
    ("url", "proxy", "is_found"),
    [
        ("http://127.0.0.1:9000", "", False),
        ("http://localhost:9000", "", False),
        ("http://localhost:9000", "http://proxy.example:3128", True),
        ("http://10.0.0.1", "", True),
        ("https://a.example", "http://proxy.example:3128", False),
    ],
)
def test_plain_http_to_this_machine_is_no_finding(
    url: str, proxy: str, *, is_found: bool
) -> None:
    made = sound(base_url=url, network="internal", proxy__url=proxy)
    ids = [finding.id for finding in configuration_posture(subject(made))]
    assert ("P-plain-http" in ids) is is_found


def test_plain_http_to_what_is_no_url_is_a_finding() -> None:
    facts = replace(subject(), base_url="http://[bad")
    ids = [finding.id for finding in configuration_posture(facts)]
    assert "P-plain-http" in ids


def test_all_that_the_policy_blocks_is_named_at_once() -> None:
    policy = parse_policy(
        '[production]\nblocking = ["P-no-rate-limit", "P-plain-http"]'
    )
    plain = {"base_url": "http://a.example", "network": "internal"}
    both = sound(**plain, limits__requests_per_minute=None)
    with pytest.raises(PolicyError) as caught:
        refuse_blocked(policy, [both, replace(sound(**plain), name="shop")])
    assert (
        caught.value.message
        == "configuration acme: requests are sent unencrypted; no rate limit is set; "
        "the policy for production blocks P-plain-http, P-no-rate-limit. "
        "configuration shop: requests are sent unencrypted; "
        "the policy for production blocks P-plain-http"
    )
    assert caught.value.hint.count("Use https") == 1


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("secret_days = [", "policy.toml"),
        ("secret_days = 0", "secret_days"),
        ("unused_days = true", "unused_days"),
        ('retention_days = "400"', "retention_days"),
        ("secret_dais = 10", "secret_dais"),
        ("blocking = []", "blocking"),
        ("production = 1", "production.blocking"),
        ("[test]\nblocks = []", "test.blocking"),
        ("[test]\nblocking = []\nmore = 1", "test.blocking"),
        ('[test]\nblocking = ["P-nonsense"]', "test.blocking"),
        ('[test]\nblocking = ["P-sealed"]', "test.blocking"),
        ("[test]\nblocking = [{}]", "test.blocking"),
        ('audit = "power"', "audit.durability"),
        ("[audit]", "audit.durability"),
        ('[audit]\ndurability = "disk"', "audit.durability"),
        ("[audit]\ndurability = 1", "audit.durability"),
        ('[audit]\ndurability = "power"\nmore = 1', "audit.durability"),
        ("api_tokens = 90", "api_tokens.longest_days"),
        ("[api_tokens]\nlongest_days = 0", "api_tokens.longest_days"),
        ("data = 30", "data.changes_days"),
        ("[data]\nchanges_days = 0", "data.changes_days"),
        ("[data]\nchanges_days = 9\nmore = 1", "data.changes_days"),
        ("[api_tokens]\nlongest_days = 9\nmore = 1", "api_tokens.longest_days"),
        ("connect = 1", "connect.return_urls"),
        ("[connect]", "connect.return_urls"),
        ("[connect]\nreturn_urls = []\nmore = 1", "connect.return_urls"),
        ('[connect]\nreturn_urls = "https://a.example"', "connect.return_urls"),
        ("[connect]\nreturn_urls = [1]", "connect.return_urls"),
        ('[connect]\nreturn_urls = ["a.example"]', "connect.return_urls"),
        ('[connect]\nreturn_urls = ["https://a.example/?b"]', "connect.return_urls"),
        ('[connect]\nreturn_urls = ["https://a.example/.."]', "connect.return_urls"),
    ],
)
def test_a_policy_that_is_not_understood_is_refused(text: str, field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_policy(text)
    assert caught.value.field == field
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("", Durability.PROCESS),
        ('[audit]\ndurability = "process"', Durability.PROCESS),
        ('[audit]\ndurability = "power"', Durability.POWER),
    ],
)
def test_the_policy_sets_what_an_audit_record_survives(
    text: str, level: Durability
) -> None:
    assert parse_policy(text).durability is level


def test_the_policy_limits_api_tokens() -> None:
    assert parse_policy("").token_days is None
    assert parse_policy("[api_tokens]\nlongest_days = 90").token_days == 90
    assert parse_policy("[data]\nchanges_days = 7").changes.days == 7
    assert parse_policy("").changes.days == 30


def test_the_policy_names_where_connect_links_may_return() -> None:
    assert parse_policy("").return_urls == ()
    assert parse_policy("[connect]\nreturn_urls = []").return_urls == ()
    text = (
        '[connect]\nreturn_urls = ["https://app.example/settings/", "http://b.example"]'
    )
    urls = [str(location) for location in parse_policy(text).return_urls]
    assert urls == ["https://app.example/settings", "http://b.example"]


def test_the_policy_is_a_file_and_a_variable_decides_about_retention(
    tmp_path: Path,
) -> None:
    assert read_policy(tmp_path, {}) == Policy()
    (tmp_path / "config").mkdir()
    file = tmp_path / "config" / "policy.toml"
    file.write_text("secret_days = 30\nretention_days = 100\n")
    assert read_policy(tmp_path, {}) == Policy(secret_days=30, retention_days=100)
    assert read_policy(tmp_path, {"OUTKEY_RETENTION_DAYS": "7"}).retention_days == 7
    for wrong in ("0", "-3", "many", "٣"):
        with pytest.raises(ConfigError):
            read_policy(tmp_path, {"OUTKEY_RETENTION_DAYS": wrong})
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigError):
        read_policy(tmp_path, {})


def test_equal_secrets_have_one_fingerprint_under_a_key_and_another_under_another() -> (
    None
):
    first, second, key = Secret("hunter2"), Secret("hunter2"), b"k" * 32
    assert first.fingerprint(key) == second.fingerprint(key)
    assert first.fingerprint(key) != Secret("hunter3").fingerprint(key)
    assert first.fingerprint(key) != first.fingerprint(b"l" * 32)


# ── the doctor ────────────────────────────────────────────────────────────────────────

KEY = b"a" * 32
Event = tuple[float, Outcome | Change]


class Runtime:
    """An installation of fakes, with an audit that tells what it is given."""

    def __init__(self, *configurations: Configuration) -> None:
        self.registry = memory_registry(configurations)
        self.secrets, self.scripts = MemorySecrets(), FakeScripts()
        self.rows, self.checkpoints = MemoryAuditRows(), MemoryCheckpoints()
        self.vouched_rows = FakeVouchedRows()
        self.premises = WELL
        self.looked = 0

    def record(
        self, events: Sequence[Event], stream: str = "k.p", *, signed: bool = True
    ) -> None:
        bodies = []
        for at, event in events:
            facts = event._asdict() | {"at": round(at * 1000)}
            facts = {n: str(v) if isinstance(v, Tag) else v for n, v in facts.items()}
            bodies.append((canonical(facts), label_of(facts)))
        rows = list(RowCodes(KEY, stream).chain(bodies))
        self.rows.append(rows)
        if signed:
            self.checkpoints.append(sign_checkpoint(KEY, rows[-1]))

    def examine(self) -> list[tuple[str, Finding]]:
        def advance(count: int) -> None:
            self.looked += count

        audit = AuditTrail(self.rows, self.checkpoints, lambda _: KEY)
        doctor = Doctor(
            self.registry,
            self.secrets,
            self.scripts,
            audit,
            PresetFiles(),
            self.vouched_rows,
        )
        return doctor.examine(self.registry.all(), self.premises, iter, advance)

    def ids(self) -> list[tuple[str, str]]:
        return [(name, finding.id) for name, finding in self.examine()]


def ended(name: str = "acme", outcome: str = "ok") -> Outcome:
    return Outcome("1", name, 200, outcome, 5)


def verified(world: Runtime, name: str = "acme") -> None:
    world.registry.save_test_result(world.registry.get(name), NOW - DAY, "")


REFERENCE = Reference(Store.ENV, "ACME_TOKEN")


def referring(
    name: str = "acme", field: str = "token", **values: object
) -> Configuration:
    made = configuration(name, **soundly(values))
    state = SecretState(made.binding_of(field), REFERENCE)
    return replace(made, secrets={field: state})


def test_a_fresh_installation_and_a_sound_one_have_no_findings() -> None:
    assert Runtime().ids() == []
    world = Runtime(referring())
    verified(world)
    world.record([(NOW - 2 * DAY, ended()), (NOW - DAY, ended())])
    assert world.ids() == []
    assert world.looked == 1


def test_one_secret_in_two_configurations_is_found_in_both_and_named_nowhere() -> None:
    world = Runtime(*(referring(name) for name in ("a", "b", "c", "d", "e")))
    world.secrets.values["token"] = "hunter2"
    found = [f for f in world.examine() if f[1].id == "P-shared-secret"]
    assert [name for name, _ in found] == ["a", "b", "c", "d", "e"]
    assert found[0][1].message.endswith("also used by b, c, d and 1 more")
    assert "hunter2" not in repr(found)


def test_the_doctor_warns_months_before_a_provider_stops_a_method() -> None:
    used = {"authentication_type": "basic", "username": "a/token"}
    assert ("acme", "P-preset-ends") in Runtime(sound(preset="zendesk", **used)).ids()
    # The same provider goes on with OAuth 2.0.
    assert ("acme", "P-preset-ends") not in Runtime(sound(preset="zendesk")).ids()
    assert ("acme", "P-preset-ends") not in Runtime(sound(preset="gone", **used)).ids()


@pytest.mark.parametrize(
    ("days", "level"),
    [(181, None), (180, "notice"), (31, "notice"), (30, "warning"), (-9, "warning")],
)
def test_an_end_is_a_notice_for_months_and_then_a_warning(
    days: int, level: str | None
) -> None:
    facts = subject(preset_ending=Ending(day_of(NOW + days * DAY), "OAuth 2.0"))
    found = {found.id: found.level for found in configuration_posture(facts)}
    assert found.get("P-preset-ends") == level


def test_an_end_of_no_known_day_is_no_finding_and_a_blocked_one_an_error() -> None:
    facts = subject(preset_ending=Ending(None, "OAuth 2.0"))
    assert "P-preset-ends" not in {found.id for found in configuration_posture(facts)}
    policy = Policy(blocking={"production": frozenset({"P-preset-ends"})})
    facts = subject(preset_ending=Ending(day_of(NOW), "OAuth 2.0"), policy=policy)
    found = {found.id: found.level for found in configuration_posture(facts)}
    assert found["P-preset-ends"] == "error"


def test_the_doctor_knows_when_the_preset_of_a_configuration_was_corrected() -> None:
    world = Runtime(sound(preset="stripe", preset_day=date(2026, 1, 1)))
    verified(world)
    assert ("acme", "P-preset-corrected") in world.ids()


def test_a_few_configurations_with_one_secret_are_all_named() -> None:
    world = Runtime(*(referring(name) for name in ("a", "b", "c")))
    world.secrets.values["token"] = "hunter2"
    messages = [f.message for _, f in world.examine() if f.id == "P-shared-secret"]
    assert messages[0].endswith("also used by b, c")


def test_an_empty_password_is_nobodys_and_what_does_not_open_is_passed_over() -> None:
    basic = {"authentication_type": "basic", "username": "u"}
    world = Runtime(
        *(referring(name, "password", **basic) for name in ("a", "b")), referring("c")
    )
    world.secrets.values["password"] = ""
    ids = {check for _, check in world.ids()}
    assert ids == {"P-never-verified"}


def test_a_token_that_names_its_end_is_not_endless() -> None:
    world = Runtime(referring(token_expires_on=None))
    verified(world)
    claims = urlsafe_b64encode(json.dumps({"exp": 1_900_000_000}).encode()).decode()
    world.secrets.values["token"] = f"h.{claims}.s"
    assert world.ids() == []
    world.secrets.values["token"] = "opaque"
    assert world.ids() == [("acme", "P-no-expiry")]


def test_a_token_that_ends_soon_by_its_own_words_is_told() -> None:
    world = Runtime(referring(token_expires_on=None))
    verified(world)
    claims = urlsafe_b64encode(json.dumps({"exp": NOW + 3 * DAY}).encode()).decode()
    world.secrets.values["token"] = f"h.{claims}.s"
    assert world.ids() == [("acme", "P-token-ends")]


def test_a_sealed_installation_opens_nothing_and_verifies_nothing() -> None:
    world = Runtime(referring("a"), referring("b"))
    world.secrets.values["token"] = "hunter2"
    world.premises = replace(WELL, sealed=True)
    world.record([(NOW - DAY, ended("a"))])
    world.rows.rows[0] = world.rows.rows[0]._replace(mac=b"spoilt")
    ids = world.ids()
    assert ids[0] == ("", "P-sealed")
    assert {check for _, check in ids} == {"P-sealed", "P-never-verified"}
    assert world.looked == 0


def test_a_broken_chain_is_told_with_its_place() -> None:
    world = Runtime()
    world.record([(NOW - DAY, ended()), (NOW - DAY, ended())])
    spoilt: ChainRow = world.rows.rows[1]._replace(mac=b"spoilt")
    world.rows.rows[1] = spoilt
    (found,) = world.examine()
    assert (found[0], found[1].id) == ("", "P-audit-broken")
    assert found[1].message.endswith("at k.p:2")


def test_records_that_nobody_signed_for_are_told_once_they_are_settled() -> None:
    world = Runtime()
    world.record([(NOW - 5, ended())], signed=False)
    assert world.ids() == []
    world.record([(NOW - DAY, ended())], "k.q", signed=False)
    (found,) = world.examine()
    assert (found[1].id, found[1].message[-3:]) == ("P-audit-tail", ": 1")


def test_records_from_before_the_retention_are_told() -> None:
    world = Runtime()
    world.record([(NOW - 500 * DAY, ended()), (NOW, ended())])
    assert world.ids() == [("", "P-audit-kept")]


def made(at: float, tag: Tag = Tag.CONFIGURATION_CREATED) -> Event:
    return at, Change(tag, "cli:root", "acme")


@pytest.mark.parametrize(
    ("events", "unused"),
    [
        ([(NOW - 91 * DAY, ended())], True),
        ([(NOW - 91 * DAY, ended()), (NOW - 89 * DAY, ended())], False),
        ([made(NOW - 91 * DAY)], True),
        ([made(NOW - 89 * DAY)], False),
        (
            [(NOW - 91 * DAY, ended("other"))],
            True,
        ),  # the audit began before, and has no record
        ([(NOW - 89 * DAY, ended("other"))], False),
        (
            [
                (NOW - 91 * DAY, ended()),
                made(NOW - DAY, Tag.CONFIGURATION_TESTED),
                (NOW - DAY + 2, ended()),  # a test is no use
            ],
            True,
        ),
        (
            [
                (NOW - 91 * DAY, ended()),
                made(NOW - DAY, Tag.CONFIGURATION_TESTED),
                (NOW - DAY + 61, ended()),
            ],
            False,
        ),
    ],
)
def test_what_was_not_used_for_long_is_told(
    events: list[Event], *, unused: bool
) -> None:
    world = Runtime(referring())
    verified(world)
    world.record(events)
    assert world.ids() == ([("acme", "P-unused")] if unused else [])


def test_failures_in_a_row_are_told_in_whatever_order_the_streams_come() -> None:
    world = Runtime(referring())
    verified(world)
    failures = [
        (NOW - second, ended(outcome="timeout")) for second in range(60, 54, -1)
    ]
    random.Random(7).shuffle(failures)
    world.record(failures[:3])
    world.record([(NOW - 70, ended()), *failures[3:]], "k.q")
    assert world.ids() == [("acme", "P-failing")]
    world.record([(NOW - 56, ended())], "k.r")
    assert world.ids() == []


class UnlockableScripts(FakeScripts):
    """A machine whose kernel has no lock."""

    def run(self, call: ScriptCall) -> tuple[tuple[str, Secret], ...]:
        super().run(call)
        raise ScriptFailed


def test_the_lock_of_scripts_is_tried_where_a_configuration_has_one() -> None:
    world = Runtime(referring())
    verified(world)
    world.scripts = UnlockableScripts()
    assert world.ids() == []
    assert world.scripts.calls == []
    script = "def compute_auth_header(sync_line):\n    return {}\n"
    world = Runtime(referring(script=script))
    verified(world)
    assert world.ids() == []
    world.scripts = UnlockableScripts()
    assert world.ids() == [("", "P-scripts")]


def test_a_stream_of_another_machine_is_not_one_that_was_signed_here() -> None:
    world = Runtime(referring())
    verified(world)
    ids = world.ids()
    world.checkpoints.append(sign_sighting(KEY, "k.other"))
    world.checkpoints.append(sign_sighting(KEY, "k.p"))
    assert [each for each in world.ids() if each not in ids] == [
        ("", "P-audit-broken")
    ], "the stream of the other machine is missing, which its sighting tells"
