"""The command `outkey webhook`: endpoints, their deliveries, and their secrets."""

import sys
import uuid
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.core.errors import ConfigError
from outkey.core.moments import moment_text, parse_iso
from outkey.core.text import Text
from outkey.core.webhooks.inbox import DeliveryState, InboxDelivery, ReplayScope
from outkey.hosts.cli.input import read_data, read_secret
from outkey.hosts.cli.output import (
    confirm,
    print_done,
    print_findings,
    print_json,
    print_line,
    print_table,
    progress_bar,
    visible_body,
)
from outkey.hosts.cli.session import (
    AsJson,
    Yes,
    administration_of,
    open_application,
)

if TYPE_CHECKING:
    from outkey.core.webhooks.stored import StoredWebhook
    from outkey.engine.application import Application
    from outkey.engine.webhooks.changes import WebhookAdministration

MAX_LISTED = 10_000
webhooks_app = typer.Typer(
    help="Webhooks: what other systems send here.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(help="the webhook's name")]
State = Annotated[
    str, typer.Option("--state", help="received, processed, failed or ignored")
]


@webhooks_app.command("list")
def list_webhooks(*, as_json: AsJson = False) -> None:
    """List the webhooks with their endpoints."""
    application = open_application()
    webhooks = application.stored_webhooks().values()
    if as_json:
        print_json([webhook_facts(application, stored) for stored in webhooks])
        return
    if not webhooks:
        print_line("no webhooks; to make one: apply a document with [webhook.NAME]")
        return
    rows = (
        (
            stored.name,
            stored.webhook.scheme,
            state_of(stored),
            effect_of(stored),
            application.endpoint_url(stored.endpoint),
        )
        for stored in webhooks
    )
    print_table(("Webhook", "Scheme", "State", "Deliveries", "Endpoint"), rows)


@webhooks_app.command("show")
def show_webhook(
    name: Name,
    *,
    delivery: Annotated[
        str, typer.Option("--delivery", help="a delivery, as inbox shows it")
    ] = "",
    body: Annotated[
        bool, typer.Option("--body", help="print the body of the delivery")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a webhook with its endpoint and its refusals, or one delivery."""
    application = open_application()
    if delivery:
        show_delivery(application, name, delivery, body=body, as_json=as_json)
        return
    if body:
        raise ConfigError(Text("--body needs --delivery"), field="--body")
    stored = application.inbox().settings.get(name)
    facts = webhook_facts(application, stored)
    if as_json:
        print_json(facts)
        return
    from outkey.core.config.export import render

    print_line(render([], [], webhooks=[stored]))
    rows = [
        ("endpoint", facts["endpoint"]),
        ("state", facts["state"]),
    ]
    print_table(("Field", "Value"), rows)
    print_refusals(application, name)
    findings = application.webhook_findings(stored)
    print_findings((name, finding) for finding in findings)


def print_refusals(application: "Application", name: str) -> None:
    """Print why deliveries were refused, how often, and what to do about it."""
    counts = application.refused_deliveries(name)
    if not counts:
        return
    texts = application.explained_refusals(name)
    rows = ((reason, count, *texts[reason]) for reason, count in counts.items())
    print_table(("Refused", "Count", "Why", "What to do"), rows)


def show_delivery(
    application: "Application",
    name: str,
    delivery_id: str,
    *,
    body: bool,
    as_json: bool,
) -> None:
    """Print a delivery; its body may have personal data, so that is recorded."""
    found = application.inbox().get(name, delivery_id)
    if not body:
        facts = delivery_facts(found)
        if as_json:
            print_json(facts)
        else:
            print_table(("Field", "Value"), facts.items())
        return
    content = changes_of(application).view_body(name, delivery_id)
    if as_json:
        text = content.decode("utf-8", "backslashreplace")
        print_json(delivery_facts(found) | {"body": text})
        return
    sys.stdout.flush()
    if sys.stdout.isatty():
        content = visible_body(content)
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


@webhooks_app.command("inbox")
def list_deliveries(
    name: Name,
    *,
    state: State = "",
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MAX_LISTED, help="at most so many")
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """List the deliveries of a webhook, newest first."""
    if state:
        parse_state(state)
    deliveries = open_application().inbox().newest(name, state, limit)
    if as_json:
        print_json([delivery_facts(delivery) for delivery in deliveries])
        return
    if not deliveries:
        print_line("no deliveries")
        return
    rows = (
        (
            delivery.id,
            moment_text(delivery.received_at),
            delivery.state,
            delivery.event_type,
            delivery.event_id,
            delivery.attempts,
            delivery.reason,
        )
        for delivery in deliveries
    )
    columns = ("ID", "Received", "State", "Type", "Event", "Attempts", "Reason")
    print_table(columns, rows)


@webhooks_app.command("replay")
def replay_deliveries(  # noqa: PLR0913 - each is an option
    name: Name,
    ids: Annotated[
        list[str] | None, typer.Argument(help="deliveries", metavar="ID...")
    ] = None,
    *,
    state: Annotated[
        str, typer.Option("--state", help="all that are failed, processed or ignored")
    ] = "",
    since: Annotated[
        str, typer.Option("--from", help="received at this time (ISO 8601) or later")
    ] = "",
    until: Annotated[
        str, typer.Option("--to", help="received before this time (ISO 8601)")
    ] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Process deliveries again: these, those of a state, or those of a period."""
    has_scope = bool(state or since or until)
    if bool(ids) == has_scope:
        raise ConfigError(
            Text("choose deliveries by ID, or by --state, --from and --to"),
            hint=Text("See: outkey webhook replay --help"),
        )
    if has_scope:
        scope = ReplayScope(
            parse_state(state) if state else None,
            parse_time(since, "--from") if since else None,
            parse_time(until, "--to") if until else None,
        )
        replay_scope(name, scope, yes=yes, as_json=as_json)
        return
    replayed = changes_of(open_application()).replay(name, ids or [])
    done = [delivery.id for delivery in replayed]
    if as_json:
        print_json({"done": "replayed", "webhook": name, "deliveries": done})
    else:
        print_line(f"replayed: {name} {' '.join(done)}; a worker processes them")


def replay_scope(name: str, scope: ReplayScope, *, yes: bool, as_json: bool) -> None:
    """Show how many deliveries these are, and process them again."""
    application = open_application()
    total = len(application.inbox().in_scope(name, scope))
    count = 0
    if total:
        confirm(f"Process {total} deliveries of {name} again?", yes=yes)
        with progress_bar("replaying", total) as advance:
            count = changes_of(application).replay_scope(name, scope, advance)
    if as_json:
        print_json({"done": "replayed", "webhook": name, "count": count})
    else:
        print_line(f"replayed: {name} {count} deliveries; a worker processes them")


def parse_state(text: str) -> DeliveryState:
    """Return the state of a delivery, or raise ConfigError."""
    try:
        return DeliveryState(text)
    except ValueError:
        raise ConfigError(
            Text("unknown state"),
            hint=Text("Choose one of {names}.", names=", ".join(DeliveryState)),
            field="--state",
        ) from None


def parse_time(text: str, option: str) -> float:
    """Return a moment in ISO 8601 as Unix time, or raise ConfigError."""
    moment = parse_iso(text)
    if moment is None:
        raise ConfigError(
            Text("this is not a time"),
            hint=Text("Write it as 2026-11-17T09:30, in UTC, or with its zone."),
            field=option,
        )
    return moment.timestamp()


@webhooks_app.command("pause")
def pause_webhook(name: Name, *, as_json: AsJson = False) -> None:
    """Ask senders to repeat their deliveries later."""
    changes_of(open_application()).pause(name)
    print_done("paused", as_json=as_json, webhook=name)


@webhooks_app.command("resume")
def resume_webhook(name: Name, *, as_json: AsJson = False) -> None:
    """Receive deliveries again."""
    changes_of(open_application()).resume(name)
    print_done("resumed", as_json=as_json, webhook=name)


@webhooks_app.command("delete")
def delete_webhook(name: Name, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a webhook with its secrets and deliveries; its endpoint is gone."""
    application = open_application()
    application.inbox().settings.get(name)
    confirm(f"Delete {name} with its deliveries?", yes=yes)
    changes_of(application).remove(name)
    print_done("deleted", as_json=as_json, webhook=name)


@webhooks_app.command("secret")
def set_webhook_secret(
    name: Name,
    *,
    previous: Annotated[
        bool, typer.Option("--previous", help="the one that is replaced at the sender")
    ] = False,
    verify_token: Annotated[
        bool, typer.Option("--verify-token", help="the token of Meta's handshake")
    ] = False,
    offered: Annotated[
        bool,
        typer.Option("--offered", help="print the token that Notion wants to be told"),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Set the secret from standard input or a prompt; never from argv."""
    from outkey.core.secret import Secret
    from outkey.core.webhooks.stored import PREVIOUS, SECRET, VERIFY_TOKEN

    if previous + verify_token + offered > 1:
        raise ConfigError(
            Text("choose one of --previous, --verify-token and --offered")
        )
    if offered:
        token = changes_of(open_application()).view_offer(name).reveal()
        if as_json:
            print_json({"webhook": name, "token": token})
        else:
            print_line(token)
        return
    field = PREVIOUS if previous else VERIFY_TOKEN if verify_token else SECRET
    application = open_application()
    application.inbox().settings.get(name)
    secret = Secret(read_secret(field, f"the webhook {name}"))
    changes_of(application).set_secret(name, secret, field)
    print_done("set", as_json=as_json, webhook=name, field=field)


@webhooks_app.command("send")
def send_sample(
    name: Name,
    file: Annotated[str, typer.Argument(help="the body, or - for standard input")],
    *,
    url: Annotated[
        str, typer.Option("--url", help="another server, such as http://127.0.0.1:8765")
    ] = "",
    event_id: Annotated[
        str, typer.Option("--event-id", help="the id of the event; random by default")
    ] = "",
    content_type: Annotated[
        str, typer.Option("--content-type", help="of the body")
    ] = "application/json",
    as_json: AsJson = False,
) -> int:
    """Sign a sample as its sender would, and post it to the own endpoint."""
    from outkey.hosts.sample_delivery import post_sample, server_url, signed_sample

    application = open_application()
    url = url or server_url(application)
    body = read_data("-" if file == "-" else f"@{file}")
    sample = signed_sample(
        application,
        name,
        body,
        event_id=event_id or str(uuid.uuid4()),
        content_type=content_type,
        base=url,
    )
    status = post_sample(sample)
    if as_json:
        print_json({"webhook": name, "status": status})
    else:
        print_line(f"{status}: {name}")
        place = "inbox" if status == 200 else "show"
        print_line(f"to see what became of it: outkey webhook {place} {quote(name)}")
    return 0 if status == 200 else 1


def changes_of(application: "Application") -> "WebhookAdministration":
    """Return what changes webhooks in the name of the user of the command."""
    return application.webhook_administration(administration_of(application))


def effect_of(stored: "StoredWebhook") -> str:
    """Return what is done with the deliveries of a webhook."""
    webhook = stored.webhook
    for key in ("line", "run", "handler"):
        if value := getattr(webhook, key):
            return f"{key} {value}"
    return ""


def state_of(stored: "StoredWebhook") -> str:
    """Return whether a webhook receives deliveries."""
    from outkey.core.webhooks.facts import webhook_state

    return webhook_state(stored)


def webhook_facts(
    application: "Application", stored: "StoredWebhook"
) -> dict[str, object]:
    """Return a webhook as programs read it; its secrets are only set or not."""
    from outkey.core.webhooks import facts

    return facts.webhook_facts(application.shown_webhook(stored))


def delivery_facts(delivery: InboxDelivery) -> dict[str, object]:
    """Return a delivery as programs read it, without its body."""
    from outkey.core.webhooks import facts

    return facts.delivery_facts(delivery)
