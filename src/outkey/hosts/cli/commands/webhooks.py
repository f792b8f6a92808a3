"""The command `outkey webhook`: endpoints, their deliveries, and their secrets."""

import sys
import uuid
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.hosts.cli.declaring import Commands
from outkey.hosts.cli.input import read_data, read_secret
from outkey.hosts.cli.printing.output import (
    confirm,
    count_text,
    print_done,
    print_findings,
    print_json,
    print_line,
    print_table,
    progress_bar,
    warn,
    warn_if_sealed,
    warn_unreadable,
)
from outkey.hosts.cli.printing.presenters import readable_body
from outkey.hosts.cli.printing.times import parse_time, time_text
from outkey.hosts.cli.session import AsJson, Yes, open_application
from outkey.hosts.command_host import administration_of
from outkey.webhooks.core.inbox.inbox import DeliveryState, InboxDelivery, ReplayScope

if TYPE_CHECKING:
    from outkey.administration.engine.application import Application
    from outkey.webhooks.core.settings.stored import StoredWebhook
    from outkey.webhooks.engine.changes import WebhookAdministration

MAX_LISTED = 10_000
webhooks_app = Commands(help="Manage webhooks: what other systems send to outkey.")
Name = Annotated[str, typer.Argument(help="The webhook's name.")]
State = Annotated[
    str,
    typer.Option(
        "--state",
        help="List only these: received, processed, failed or ignored.",
        metavar="STATE",
    ),
]


@webhooks_app.command("list")
def list_webhooks(*, as_json: AsJson = False) -> None:
    """List the webhooks with their endpoints."""
    application = open_application()
    webhooks = application.webhooks.stored().values()
    warn_unreadable(application.webhooks.unreadable())
    if as_json:
        print_json([webhook_facts(application, stored) for stored in webhooks])
        return
    warn_if_sealed(application)
    if not webhooks:
        print_line(
            "There are no webhooks yet. Apply a document with [webhook.NAME]:"
            " outkey apply FILE"
        )
        return
    rows = (
        (
            stored.name,
            stored.webhook.scheme,
            state_text(application, stored),
            effect_of(stored),
            application.webhooks.endpoint_url(stored.endpoint),
        )
        for stored in webhooks
    )
    print_table(("Webhook", "Scheme", "State", "Goes to", "Endpoint"), rows)
    _print_public_url_hint(application)


@webhooks_app.command("schemes")
def list_schemes(*, as_json: AsJson = False) -> None:
    """List the schemes: how senders sign, and which of them end."""
    from outkey.webhooks.core.schemes.schemes import SCHEMES

    if as_json:
        print_json([scheme.facts() for scheme in SCHEMES.values()])
        return
    rows = (
        (scheme.name, scheme.label, str(scheme.ending.words) if scheme.ending else "")
        for scheme in SCHEMES.values()
    )
    print_table(("Scheme", "Sender", "Ends"), rows)


@webhooks_app.command("show")
def show_webhook(
    name: Name,
    *,
    delivery: Annotated[
        str,
        typer.Option(
            "--delivery",
            help="Show this delivery; outkey webhook inbox lists their ids.",
            metavar="ID",
        ),
    ] = "",
    body: Annotated[
        bool,
        typer.Option(
            "--body", help="Print the body of the delivery. This is recorded."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a webhook with its endpoint and its refusals, or one delivery."""
    application = open_application()
    if delivery:
        _show_delivery(application, name, delivery, body=body, as_json=as_json)
        return
    if body:
        raise ConfigError(Text("--body needs --delivery"), field="--body")
    stored = application.webhooks.inbox().settings.listed(name)
    facts = webhook_facts(application, stored)
    if as_json:
        print_json(facts)
        return
    from outkey.administration.core.document.export import render

    warn_if_sealed(application)
    print_line(render([], [], webhooks=[stored]))
    rows = [
        ("endpoint", facts["endpoint"]),
        ("state", state_text(application, stored)),
    ]
    print_table(("Field", "Value"), rows)
    _print_public_url_hint(application)
    _print_refusals(application, name)
    findings = application.webhooks.findings(stored)
    print_findings((name, finding) for finding in findings)


def _print_refusals(application: "Application", name: str) -> None:
    """Print why deliveries were refused, how often, and what to do about it."""
    counts = application.webhooks.refused(name)
    if not counts:
        return
    texts = application.webhooks.explained_refusals(name)
    rows = ((reason, count, *texts[reason]) for reason, count in counts.items())
    print_table(("Refused", "Count", "Why", "What to do"), rows)


def _show_delivery(
    application: "Application",
    name: str,
    delivery_id: str,
    *,
    body: bool,
    as_json: bool,
) -> None:
    """Print a delivery; its body may have personal data, so that is recorded."""
    found = application.webhooks.inbox().get(name, delivery_id)
    if not body:
        facts = delivery_facts(found)
        if as_json:
            print_json(facts)
        else:
            values = facts | {"received_at": time_text(found.received_at)}
            rows = ((key.replace("_", " "), fact) for key, fact in values.items())
            print_table(("Delivery", ""), rows)
        return
    content = changes_of(application).view_body(name, delivery_id)
    if as_json:
        text = content.decode("utf-8", "backslashreplace")
        print_json(delivery_facts(found) | {"body": text})
        return
    sys.stdout.flush()
    if sys.stdout.isatty():
        content = readable_body(content)
    sys.stdout.buffer.write(content)
    if sys.stdout.isatty() and content and not content.endswith(b"\n"):
        print_line("")
    sys.stdout.buffer.flush()


@webhooks_app.command("inbox")
def list_deliveries(
    name: Name,
    *,
    state: State = "",
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            min=1,
            max=MAX_LISTED,
            help="How many deliveries, the newest first.",
            metavar="NUMBER",
        ),
    ] = 50,
    as_json: AsJson = False,
) -> None:
    """List the deliveries of a webhook, newest first."""
    if state:
        _parse_state(state)
    deliveries = open_application().webhooks.inbox().newest(name, state, limit)
    if as_json:
        print_json([delivery_facts(delivery) for delivery in deliveries])
        return
    if not deliveries:
        print_line(_no_deliveries_text(name, state))
        return
    columns = [
        "ID",
        "Received",
        "State",
        "Type",
        "Event",
        "Attempts",
        "Records",
        "Reason",
    ]
    rows = list(map(_delivery_row, deliveries))
    if any(delivery.tested_by for delivery in deliveries):
        columns.append("Test by")
        for row, delivery in zip(rows, deliveries, strict=True):
            row.append(delivery.tested_by)
    print_table(columns, rows)


def _delivery_row(delivery: InboxDelivery) -> list[object]:
    """Return a delivery for the list."""
    return [
        delivery.id,
        time_text(delivery.received_at),
        delivery.state,
        delivery.event_type,
        delivery.event_id,
        delivery.attempts,
        "" if delivery.records is None else delivery.records,
        delivery.reason,
    ]


@webhooks_app.command("replay")
def replay_deliveries(  # noqa: PLR0913 - each is an option
    name: Name,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            help="The deliveries, by the ids that outkey webhook inbox shows.",
            metavar="ID...",
        ),
    ] = None,
    *,
    state: Annotated[
        str,
        typer.Option(
            "--state",
            metavar="STATE",
            help="Replay all that are failed, processed or ignored.",
        ),
    ] = "",
    since: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="TIME",
            help=(
                "Replay what was received at this time (ISO 8601, in local time"
                " without a zone) or later."
            ),
        ),
    ] = "",
    until: Annotated[
        str,
        typer.Option(
            "--to", metavar="TIME", help="Replay what was received before this time."
        ),
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
            _parse_state(state) if state else None,
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
    total = len(application.webhooks.inbox().in_scope(name, scope))
    count = 0
    if total:
        deliveries = count_text(total, "delivery", "deliveries")
        confirm(f"Process {deliveries} of {name} again?", yes=yes)
        with progress_bar("replaying", total) as advance:
            count = changes_of(application).replay_scope(name, scope, advance)
    if as_json:
        print_json({"done": "replayed", "webhook": name, "count": count})
    else:
        deliveries = count_text(count, "delivery", "deliveries")
        print_line(f"replayed: {name} {deliveries}; a worker processes them")


def _parse_state(text: str) -> DeliveryState:
    """Return the state of a delivery, or raise ConfigError."""
    try:
        return DeliveryState(text)
    except ValueError:
        raise ConfigError(
            Text("unknown state"),
            hint=Text("Choose one of {names}.", names=", ".join(DeliveryState)),
            field="--state",
        ) from None


@webhooks_app.command("pause")
def pause_webhook(name: Name, *, as_json: AsJson = False) -> None:
    """Pause a webhook. Senders are asked to repeat their deliveries later."""
    changes_of(open_application()).pause(name)
    print_done("paused", as_json=as_json, webhook=name)


@webhooks_app.command("resume")
def resume_webhook(name: Name, *, as_json: AsJson = False) -> None:
    """Resume a webhook, and receive deliveries again."""
    changes_of(open_application()).resume(name)
    print_done("resumed", as_json=as_json, webhook=name)


@webhooks_app.command("delete")
def delete_webhook(name: Name, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Delete a webhook with its secrets and deliveries.

    Its endpoint responds with 410 from then on.
    """
    application = open_application()
    application.webhooks.inbox().settings.endpoint_of(name)
    confirm(f"Delete {name} with its deliveries?", yes=yes)
    changes_of(application).remove(name)
    print_done("deleted", as_json=as_json, webhook=name)


@webhooks_app.command("secret")
def set_webhook_secret(
    name: Name,
    *,
    previous: Annotated[
        bool,
        typer.Option(
            "--previous", help="Set the previous secret, which is accepted as well."
        ),
    ] = False,
    verify_token: Annotated[
        bool, typer.Option("--verify-token", help="Set the token of Meta's handshake.")
    ] = False,
    offered: Annotated[
        bool,
        typer.Option("--offered", help="Print the token that Notion asks for."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Set the secret from a prompt or standard input.

    A value is never read from the command line, which other users can see.
    """
    from outkey.foundation.core.secret import Secret
    from outkey.webhooks.core.settings.stored import PREVIOUS, SECRET, VERIFY_TOKEN

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
    application.webhooks.inbox().settings.get(name)
    secret = Secret(read_secret(field, f"the webhook {name}"))
    changes_of(application).set_secret(name, secret, field)
    print_done("set", as_json=as_json, webhook=name, field=field)


@webhooks_app.command("send")
def send_sample(
    name: Name,
    file: Annotated[
        str, typer.Argument(help="The file with the body, or - for standard input.")
    ],
    *,
    url: Annotated[
        str,
        typer.Option(
            "--url",
            help=(
                "Send to another server, by https except on this machine. Not for"
                " schemes whose proof is the secret itself."
            ),
            metavar="URL",
        ),
    ] = "",
    event_id: Annotated[
        str,
        typer.Option(
            "--event-id",
            help="The id of the event. Without one, it is random.",
            metavar="ID",
        ),
    ] = "",
    content_type: Annotated[
        str,
        typer.Option("--content-type", help="The type of the body.", metavar="TYPE"),
    ] = "application/json",
    as_json: AsJson = False,
) -> int:
    """Sign a sample as its sender would, and post it to the endpoint."""
    from outkey.hosts.sample_delivery import post_sample, server_url, signed_sample

    application = open_application()
    base = url or server_url(application)
    body = read_data("-" if file == "-" else f"@{file}")
    event_id = event_id or str(uuid.uuid4())
    sample = signed_sample(
        application,
        name,
        body,
        event_id=event_id,
        content_type=content_type,
        base=base,
    )
    inbox = application.webhooks.inbox()
    known = {delivery.id for delivery in inbox.newest(name)}
    with changes_of(application).sending_test(name, sample, event_id) as marked:
        status = post_sample(marked)
    # Another server may have another inbox.
    is_new = url or any(delivery.id not in known for delivery in inbox.newest(name))
    if as_json:
        print_json({"webhook": name, "status": status})
    else:
        _print_sent_sample(name, status)
        if status == 200 and not is_new:
            warn("Nothing was stored: the sample is a duplicate or a handshake.")
    return 0 if status == 200 else 1


def _print_sent_sample(name: str, status: int) -> None:
    """Print how the endpoint responded to a sample, and where to see its delivery."""
    print_line(f"sent: {name}, the endpoint responded with status {status}")
    place = "inbox" if status == 200 else "show"
    print_line(f"to see what became of it: outkey webhook {place} {quote(name)}")


def _no_deliveries_text(name: str, state: str) -> str:
    """Return why no delivery is listed, and what to do."""
    if state:
        return f"No delivery is {state}. List all: outkey webhook inbox {quote(name)}"
    return (
        "There are no deliveries yet. Send a sample with:"
        f" outkey webhook send {quote(name)} FILE"
    )


def _print_public_url_hint(application: "Application") -> None:
    """Print how endpoints are shown as whole URLs, if they are not."""
    if not application.public_url:
        warn("hint: Set OUTKEY_PUBLIC_URL to see the whole URL of an endpoint.")


def changes_of(application: "Application") -> "WebhookAdministration":
    """Return the administration of webhooks, in the name of the command's user."""
    return application.webhooks.administration(administration_of(application))


def effect_of(stored: "StoredWebhook") -> str:
    """Return the line or function that a webhook's deliveries are for."""
    webhook = stored.webhook
    for key in ("line", "run", "handler"):
        if value := getattr(webhook, key):
            return f"{key} {value}"
    return ""


def state_text(application: "Application", stored: "StoredWebhook") -> str:
    """Return whether a webhook receives deliveries, in words."""
    from outkey.foundation.core.findings.checks import Level
    from outkey.webhooks.core.inbox.health import LABELS, WebhookState
    from outkey.webhooks.core.settings.facts import webhook_state

    findings = application.webhooks.findings(stored)
    has_error = any(finding.level is Level.ERROR for finding in findings)
    if has_error and not stored.is_paused:
        return LABELS[WebhookState.NOT_READY]
    return webhook_state(stored)


def webhook_facts(
    application: "Application", stored: "StoredWebhook"
) -> dict[str, object]:
    """Return a webhook as programs read it; its secrets are only set or not."""
    from outkey.webhooks.core.settings import facts

    return facts.webhook_facts(application.webhooks.shown(stored))


def delivery_facts(delivery: InboxDelivery) -> dict[str, object]:
    """Return a delivery as programs read it, without its body."""
    from outkey.webhooks.core.settings import facts

    return facts.delivery_facts(delivery)
