"""What only the full run does, with the reason for each.

`make test` must be short enough to be run before each change. A row moves
tests out of it and names what stays to protect the same rule; nothing is deleted, and
`make test-full` runs everything. A single test or parameter may also be marked where it
stands, with `pytest.mark.full`.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from typing import NamedTuple

import pytest


class Row(NamedTuple):
    """Tests that move to the full run."""

    where: str  # how their ids begin, below tests/
    why: str  # with what stays
    only: Sequence[str] = ()  # if there are any: of these parameters or names
    but: Sequence[str] = ()  # these parameters or names stay
    # Of each test stays what is needed to have any two parameters together once.
    pairs_stay: bool = False


ROWS = (
    # ── unit: limits at their size, all orders of events ──────────────────────────────
    Row(
        "unit/importing/adapters/test_import_limits.py::test_what_is_made_to_be_slow",
        "sizes at the limit; one for each reader stays",
        but=("[many requests", "[variables that", "[a chain of", "[many origins"),
    ),
    Row(
        "unit/test_hostile_texts.py::test_a_response_of_millions_of_values",
        "responses of many megabytes; one stays",
        but=("[nested]",),
    ),
    Row(
        "unit/test_hostile_texts.py::test_usual_expressions_work_on_the_largest_pages",
        "the largest page that is possible; one expression stays",
        but=("0]",),
    ),
    Row(
        "unit/sync/engine/push/test_sync_ledger.py::test_whatever_ends_a_push_at_any",
        "actions × kinds of push × ends × moments, at each step; each two of them stay",
        pairs_stay=True,
    ),
    Row(
        "unit/sync/engine/pairs/test_pair_random.py::test_random_edits",
        "random edits for each rule; two rules stay, one for each kind of key",
        but=("[ask-True]", "[newest-False]"),
    ),
    Row(
        "unit/testing/test_pytest_plugin.py",
        "each starts a pytest; the fixture and that it loads nothing stay",
        but=("test_the_fixture_is_a_gateway", "loads_nothing"),
    ),
    # ── cli: kills and storms, which the engine's own tests play without processes ────
    Row(
        "cli/test_power_failure.py",
        "a disk that loses writes; unit tests end runs at any step",
    ),
    Row("cli/test_webhook_storms.py", "load; test_webhook_commands.py stays"),
    Row("cli/test_webhook_kills.py", "kills; test_sync_kills.py stays"),
    Row("cli/test_push_kills.py", "kills; test_sync_kills.py stays"),
    Row(
        "cli/test_pair_commands.py",
        "kills and each rule; unit/…/test_pair_faults.py and one rule stay",
        only=("interrupted_pair", "test_the_rule_decides", "newest_change"),
        but=("[host-Ada L.]",),
    ),
    Row(
        "cli/test_request_output.py::test_in_a_pipe_every_body_has_exactly_its_bytes",
        "every body in processes; those on a terminal stay",
    ),
    Row(
        "cli/test_script_commands.py::test_a_script_that_goes_wrong_sends_nothing",
        "every mistake in processes; scripts/test_leaks.py stays",
    ),
    Row(
        "cli/test_storage_faults.py",
        "waits for locks and limits; the shortest ones stay",
        but=("full_disk", "let_go_in_time"),
    ),
    Row(
        "cli/test_graceful_stop.py",
        "each kind of process; a server with a run and one with a send stay",
        but=("sqlite_releases", "under_way"),
    ),
    Row(
        "cli/test_http_interface.py",
        "each token and scope; unit/…/test_api_access.py and two of them stay",
        only=("without_a_valid_token", "for_its_scopes_only", "test_other_methods"),
        but=("[unknown]", "[read]", "[send]"),
    ),
    Row(
        "cli/test_operating.py",
        "waits until a server is not ready; a removed key stays",
        only=("locked_database", "cannot_be_locked_in", "landlock", "that_lives"),
    ),
    Row(
        "cli/test_webhook_commands.py",
        "orders of deliveries; unit/webhooks stays",
        only=("out_of_order", "old_number"),
    ),
    Row(
        "cli/test_times.py",
        "every command; one for users and one for programs stay",
        but=("[command0]",),
    ),
    Row(
        "cli/test_demo.py",
        "homes of version 0.1 and with the demo, and what make run says when it ends;"
        " docs/test_blocks.py has make run",
        but=("production_home",),
    ),
    Row(
        "cli/test_echo.py",
        "each form of a signature; one form and the records of a run stay",
        but=("stores_no_record", "[form0]"),
    ),
    Row(
        "cli/test_spar_webhooks.py::test_what_a_delivery_names_is_fetched",
        "unit/webhooks stays",
    ),
    Row(
        "cli/test_spar_webhooks.py::test_what_the_provider_signs_is_accepted",
        "each scheme; unit/…/test_webhook_vectors.py and one scheme stay",
        but=("[standard]",),
    ),
    Row(
        "cli/test_login_processes.py",
        "races and kills; one of each stays, and test_token_processes.py",
        but=(
            "without_a_token_log_in",
            "of_a_login_is_recovered[after asking]",
        ),
    ),
    Row(
        "cli/test_token_processes.py",
        "races, kills and holders that stop; one of each stays",
        but=(
            "with_an_expired_token",
            "or_a_person_is_asked[after asking]",
            "[after claim]",
        ),
    ),
    Row(
        "cli/test_import.py::test_a_bomb_ends_within_the_limits_of_time_and_memory",
        "unit/…/test_import_limits.py and one of them stay",
        but=("[aliases]",),
    ),
    Row("cli/test_event_loop.py", "measures time; tests/unit/…/test_asend.py stays"),
    Row(
        "cli/test_line_commands.py",
        "what commands print besides, which unit/hosts/cli and unit/sync test;"
        " a run, a push, a dry run, rejected records, the guard and a stop stay",
        only=(
            "next_one_go_on_at_once",
            "paused_resumed_and_deleted",
            "lists_inside_records",
            "retry_rejects_again",
            "following_says",
            "could_take_no_record",
            "prints_no_table",
            "with_a_space_in_its_name",
            "repeated_by_a_worker",
            "does_not_show",
            "are_data",
            "shown_with_its_number",
            "how_to_resume_the_line",
            "is_archived",
            "would_be_sent",
            "shows_the_new_values",
        ),
    ),
    Row(
        "cli/test_pair_commands.py",
        "the words of each ending; a decision, its audit and a failed pull stay",
        only=(
            "json_of_conflicts",
            "guard_names_the_line",
            "counted_and_are_no_failure",
            "json_of_a_run",
            "pull_is_reported_too",
            "fields_of_each_side",
            "rejects_every_record",
            "unknown_pair",
            "named_with_what_to_do",
        ),
    ),
    Row(
        "cli/test_login_commands.py",
        "odd providers in processes; unit/sending/…/tokens and a login from its test"
        " to its end, an expired marker and five refusals stay",
        only=(
            "odd_login",
            "named_first_and_not_repeated",
            "sent_in_many_places",
            "login_that_hangs",
            "without_a_logout_path",
        ),
    ),
    Row(
        "cli/test_webhook_commands.py",
        "samples of each kind, and slow senders, as browser/test_slow_clients.py; a"
        " delivery, what senders are told and one sample stay",
        only=(
            "slow_senders",
            "sample_that_was_sent_before",
            "leads_to_its_state",
            "to_the_own_server_only",
            "token_of_notion",
        ),
    ),
    Row(
        "cli/test_http_interface.py",
        "a second scope in a server, and load; unit/…/test_api_access.py, the table of"
        " operations and one scope stay",
        only=(
            "opens_for_its_scopes_only[send]",
            "memory_is_flat",
            "so_many_large_bodies",
        ),
    ),
    Row(
        "cli/test_tables.py",
        "what three commands load, a table that was dropped, two kinds of files;"
        " test_start.py, database/test_pairs.py and unit/…/test_file_targets.py stay",
        only=("load_sqlalchemy", "filled_again", "[csv]", "[parquet]"),
    ),
    Row(
        "cli/test_user_commands.py",
        "passwords of each kind; a disabled user, its tokens and refusals stay",
        only=("no_line_break", "generated_and_printed", "do_more_than"),
    ),
    Row(
        "cli/test_own_pages.py::test_the_pages_are_refused_in_every_spelling",
        "every address to listen on; unit/…/test_egress.py and one of them stay",
        but=("[127.0.0.1",),
    ),
    Row(
        "cli/test_start.py::test_the_migrations_are_those_that_django_finds",
        "with the pages too; those of commands stay",
        only=("settings_pages]",),
    ),
    Row(
        "cli/test_line_commands.py::test_a_line_pulls_every_record_once",
        "each way to hand out pages; unit/sync/engine/pull and one of them stay",
        but=("[cursor]",),
    ),
    Row(
        "cli/test_planted_rows.py",
        "ways to accept what was planted; that nothing is done by it stays",
        only=(
            "one_command_accepts",
            "deleted_by_their_names",
            "accepted_by_their_names",
            "printed_for_people",
            "in_the_usual_way",
        ),
    ),
    Row(
        "cli/test_spar_webhooks.py::test_every_mistake_is_answered_and_explained",
        "every mistake; what a provider signs and unit/webhooks stay",
    ),
    Row(
        "cli/test_suggest_commands.py",
        "whole suggestions; unit/sync/core/suggest and the others here stay",
        only=("brings_every_record",),
    ),
    # ── browser: one way through each page stays ──────────────────────────────────────
    Row(
        "browser/test_accessibility.py::test_a_page_has_no_accessibility_violation",
        "each page in widths, languages and themes; the pages of most use stay",
        but=("outkey_configuration_new", "outkey_run_change-"),
    ),
    Row(
        "browser/test_page_states.py::test_a_state_has_no_accessibility_violation",
        "each state in widths, languages and themes; one state stays",
        but=("[rows of each kind",),
    ),
    Row(
        "browser/test_keyboard.py",
        "whole tasks without a mouse; one in test_new_configuration.py stays",
    ),
    Row(
        "browser/test_slow_clients.py",
        "clients that wait for seconds; a slow and a silent one stay",
        but=(
            "[nothing-40]",
            "arrives_too_slowly",
            "loop_rests",
            "test_loopback_needs_no_proxy",
        ),
    ),
    Row(
        "browser/",
        "phones and German; test_accessibility.py stays",
        only=("phone", "german", "keyboard", "[dark]"),
    ),
    Row(
        "browser/test_new_configuration.py",
        "each type; one with a mouse, one without, and what is safe about saving stay",
        only=("",),
        but=(
            "repaired_before_it_is_saved[Mouse]",
            "in_the_url_is_entered_masked_and_tested[Keyboard]",
            "exactly_the_saved_values",
            "id_of_another_configuration",
            "hidden_as_soon_as",
            "without_its_secrets",
        ),
    ),
    Row(
        "browser/test_new_pages.py",
        "how it looks; a preset, a key in the query and a new name stay",
        only=("border_of_its_card", "without_a_script", "around_a_secret"),
    ),
    Row(
        "browser/test_activity_pages.py",
        "filters and links; what is never shown, folded rows and the export stay",
        but=("never_a_text", "is_one_row", "is_exported", "odd_filters"),
    ),
    Row(
        "browser/test_home_pages.py",
        "how lists look; what each user may do, a problem and its fix stay",
        but=("[home_and_lists]", "leads_to_the_fix", "after_a_question", "escape"),
    ),
    Row(
        "browser/test_import_pages.py",
        "collections and names; unit/importing and a command from its copy to its test"
        " stay",
        but=("within_a_minute", "is_left_behind", "refused_without_the_text"),
    ),
    Row(
        "browser/test_login_pages.py",
        "refusals at their fields; cli/test_login_commands.py stays",
        only=("every_missing_field", "last_error", "refused_at_its_field"),
    ),
    Row(
        "browser/test_pages.py",
        "each type and address; one of each, rights and all that keeps secrets stay",
        only=(
            "[https://",
            "two_sources_of_a_header",
            "[localhost]",
            "[[::ffff",
            "work_as_entered",
            "rotated_and_the_chain",
            "made_changed_and_deleted",
            "numbers_its_reasons",
        ),
    ),
    Row(
        "browser/test_pair_pages.py",
        "unit/…/test_pair_users.py; a decision and who may not decide stay",
        only=("changed_since",),
    ),
    Row(
        "browser/test_data_pages.py",
        "how a table looks; its filters, export and rights stay",
        only=("wide_table",),
    ),
    Row("browser/test_proxy_pages.py", "cli/test_proxy_commands.py stays"),
    Row(
        "browser/test_accessibility.py",
        "a narrow screen and the appearance; two pages stay",
        only=("narrow_screen", "chosen_appearance"),
    ),
    Row(
        "browser/test_run_pages.py",
        "what the pages of runs do besides; rejected and removed records stay",
        but=("rejected_record", "download"),
    ),
    Row(
        "browser/test_line_pages.py",
        "the way through the form, its mistakes and comments stay",
        only=(
            "on_the_spot",
            "renamed",
            "list_inside",
            "versions",
            "unsaved",
            "two_editors",
            "sends_records",
            "[toml]",
        ),
    ),
    Row(
        "browser/test_sync_pages.py",
        "running a line and its mistakes stay",
        only=(
            "keep_their_bounds",
            "cancelled_stops",
            "before_it_is_saved",
            "begins_nothing",
            "is_paused_and_resumed",
            "webhook_names",
        ),
    ),
    Row(
        "browser/test_oauth2_pages.py",
        "a consent, its callback and one refusal stay",
        but=("connects_and", "counts_once", "[state]"),
    ),
    Row(
        "browser/test_webhook_pages.py",
        "a webhook from its form to a replay, errors, rights and a token stay",
        but=("tested_and_its", "errors_are", "operator_sees", "shown_once"),
    ),
    Row(
        "browser/test_script_pages.py",
        "the example of the specification and one error stay",
        but=("specifications_example", "syntax_error", "html_in_a_script"),
    ),
    Row(
        "browser/test_permissions.py",
        "each permission on its own; three programs and unit/…/test_access.py stay",
        but=("[permissions_pages]", "[permissions_editing]", "[permissions_lines]"),
    ),
    Row(
        "browser/test_page_states.py::test_a_sign_in_that_fails",
        "test_pages.py locks a sign-in",
    ),
    Row(
        "browser/test_user_rights.py",
        "many guesses; test_pages.py locks a sign-in",
        only=("guesses",),
    ),
    Row("browser/test_weight.py", "measures bytes and time of every page"),
    Row("browser/test_german_verdicts.py", "a second language; tests/docs stays"),
    Row(
        "browser/test_roles.py",
        "every URL for every role; test_permissions.py and unit/…/test_access.py stay",
    ),
    Row("browser/test_editor_edits.py", "as above: unit/…/test_access.py stays"),
    Row("browser/test_hostile_pages.py", "unit/test_hostile_texts.py stays"),
    Row("browser/test_tutorial.py", "the tutorial; each page has its own test"),
    # ── database: the second one of each test, faults, attacks and kills ──────────────
    Row(
        "database/", "MariaDB: tables in SQLite and PostgreSQL stay", only=("mariadb",)
    ),
    *(
        Row(
            f"database/test_table{name}.py",
            "tables in five places; outkey's own SQLite and another PostgreSQL stay",
            only=("own postgresql", "[sqlite", "-sqlite"),
        )
        for name in ("s", "_faults", "_ids", "_children", "_attacks")
    ),
    *(
        Row(
            f"database/test_{name}.py",
            "the same on PostgreSQL; contracts, runs, locks and pairs stay there",
            only=("postgresql",),
        )
        for name in (
            "asend",
            "backups",
            "data_pages",
            "database_writers",
            "doubled_names",
            "idle_audit",
            "installation",
            "monitoring",
            "planted_rows",
            "streams_of_machines",
            "swallowed_writes",
            "sync_scripts",
            "sync_values",
            "webhook_view",
        )
    ),
    Row(
        "database/test_workers.py",
        "restarts and waits; a worker that is killed and one that fails stay",
        only=("that_hangs", "while_it_runs", "restart", "told_to_stop", "rate_limit"),
    ),
    Row(
        "database/test_command_line.py::test_the_pages_hold_on_postgresql",
        "as on SQLite; one program stays",
        but=("[permissions_rights]",),
    ),
    Row(
        "database/test_readiness.py",
        "waits; a key, an audit and a database stay",
        only=("without_a_worker", "locked_database"),
    ),
    Row(
        "database/test_backups.py",
        "load and other machines; a backup, its restore and its keys stay",
        only=(
            "under_load",
            "[command1]",
            "newer_tables",
            "another_machine",
            "retired_key",
            "only_on_request",
            "goes_live",
        ),
    ),
    Row(
        "database/test_sync_faults.py",
        "sizes at the limit and waits; unit/…/test_hostile_texts.py stays",
        only=("million_fields", "flat_memory", "[429-3"),
    ),
    Row(
        "database/test_line_rename.py",
        "in five places; two of them stay",
        but=("[own postgresql]", "[model sqlite]"),
    ),
    Row("database/test_odd_rows.py", "every column; test_planted_rows.py stays"),
    Row("database/test_every_address.py", "every URL with wrong parameters"),
    Row("database/test_backup_kills.py", "kills; test_backups.py stays"),
    Row("database/test_table_kills.py", "kills; cli/test_sync_kills.py stays"),
    Row("database/test_target_faults.py", "faults; test_table_faults.py stays"),
    Row("database/test_hostile_databases.py", "attacks; test_table_attacks.py stays"),
    Row(
        "database/test_own_deadlines.py", "waits for deadlines; test_readiness.py stays"
    ),
    Row("database/test_upgrade.py", "stored versions; test_migrations.py stays"),
    Row("database/test_faults.py", "faults on PostgreSQL", only=("postgresql",)),
    Row(
        "database/test_command_line.py::test_processes_on_postgresql",
        "races on PostgreSQL; the contract of tokens and cli/test_token_processes.py"
        " stay",
    ),
    Row(
        "database/test_pairs.py",
        "the same on PostgreSQL; kills and each change stay there",
        only=("postgresql",),
        but=("before_the_checkpoint", "travels_once"),
    ),
    # ── peers: nginx, httpbin and one authorization server stay ───────────────────────
    Row(
        "peers/test_integrations.py::test_no_credential_follows_a_redirect",
        "redirects × targets × credentials × clients; each two of them stay",
        pairs_stay=True,
    ),
    Row(
        "peers/test_nginx_redirects.py::test_no_credential_reaches_another_origin",
        "redirects × targets × credentials; each two of them stay",
        pairs_stay=True,
    ),
    Row("peers/test_nginx_async.py", "as blocking; contract/test_asyncio_transport.py"),
    Row("peers/test_oauth2_glewlwyd.py", "a third server; test_oauth2_oidc.py stays"),
    Row("peers/test_oauth2_toolkit.py", "a second server; test_oauth2_oidc.py stays"),
    Row(
        "peers/test_oauth2_peers.py",
        "all on three servers; oidc-provider stays",
        only=("glewlwyd", "toolkit"),
    ),
    Row("peers/test_authorization_servers.py", "tests no code of outkey"),
    Row(
        "peers/test_oauth2_peers.py",
        "ten seconds of load; cli/test_token_processes.py stays",
        only=("for_ten_seconds",),
    ),
    Row(
        "peers/test_parallel.py::test_200_parallel_sends",
        "load; unit/…/test_asend.py stays",
    ),
    Row("peers/test_directus.py", "a login; cli/test_login_commands.py stays"),
    Row("peers/test_proxy_peers.py", "tinyproxy; squid stays", only=("tinyproxy",)),
    Row("peers/test_reverse_proxies.py", "the examples for operators"),
    Row("peers/test_prometheus.py", "cli/test_monitoring_commands.py stays"),
    Row(
        "peers/test_schemathesis.py",
        "100 examples, and names of any kind; an example with known names stays",
        but=("[names]",),
    ),
    Row("peers/test_sync_guide.py", "examples; test_sync_peers.py stays"),
    Row("peers/test_import_peers.py", "makers' readers; unit/importing stays"),
    Row("peers/test_webhook_judges.py", "unit/…/test_webhook_vectors.py stays"),
    Row("peers/test_webhook_sender.py", "cli/test_webhook_commands.py stays"),
    # ── scripts, faults and docs ──────────────────────────────────────────────────────
    Row("scripts/test_syscalls.py", "all system calls; test_escapes.py stays"),
    Row("faults/test_response_fuzz.py", "unit/…/test_response_reader.py stays"),
    Row(
        "faults/test_streamed_bodies.py::test_the_parts_of_a_compressed_body",
        "every encoding; two of them stay",
        but=("[gzip]", "[two layers]"),
    ),
    Row(
        "docs/test_docs.py::test_the_lines_of_a_page_run_as_they_are_shown",
        "lines of the guide, whose commands test_blocks.py runs; the reference stays",
        but=("[lines.md]",),
    ),
    Row(
        "docs/test_blocks.py::test_the_commands_of_a_page_do_what_it_shows",
        "the commands of each guide; README and the tutorial stay",
        but=("[README.md]", "[docs/tutorial/"),
    ),
    Row("docs/test_package.py", "builds the wheel; a release tests it"),
)


def long_tests(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """Return those of some tests that only the full run has."""
    covered: set[object] = set()
    for item in items:
        where = item.nodeid.removeprefix("tests/")
        rows = _rows_of(where.partition("::")[0])
        row = next((row for row in rows if _is_in(row, where)), None)
        stays = row is None or (row.pairs_stay and _adds_pair(item, covered))
        if item.get_closest_marker("full") or not stays:
            yield item


@cache  # a file has many tests, and most rows are about others
def _rows_of(file: str) -> Sequence[Row]:
    """Return the rows that may be about tests of a file."""
    return [
        row for row in ROWS if row.where.startswith(file) or file.startswith(row.where)
    ]


def _is_in(row: Row, where: str) -> bool:
    if not where.startswith(row.where):
        return False
    name = where.partition("::")[2]
    if any(word in name for word in row.but):
        return False
    return not row.only or any(word in name for word in row.only)


def _adds_pair(item: pytest.Item, covered: set[object]) -> bool:
    """Whether no earlier test had two of its parameters together."""
    parameters = item.callspec.params.items()  # type: ignore[attr-defined]
    values = [(name, repr(value)) for name, value in parameters]
    test = item.nodeid.partition("[")[0]
    pairs = {(test, *pair) for pair in combinations(values, 2)}
    is_new = not pairs <= covered
    covered |= pairs
    return is_new
