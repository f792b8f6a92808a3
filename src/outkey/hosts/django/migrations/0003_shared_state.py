"""One table for the small values that processes share, in the place of five.

Copied is what must survive: paces, baselines, open notices, and how far monitoring and
the schedules have got. Leases and heartbeats are written again within minutes.
"""

import hashlib
import json
from collections.abc import Iterator

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

BATCH = 500


def copy_states(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Write a shared state for each row of the tables that are deleted below."""
    state = apps.get_model("outkey", "SharedStateRow")
    rows = [
        state(kind=kind, key=key, generation=1, value=json.dumps(value))
        for kind, key, value in old_states(apps)
    ]
    state.objects.bulk_create(rows, batch_size=BATCH)


def old_states(apps: Apps) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Return the kind, key and value of every state that is copied."""
    for row in apps.get_model("outkey", "Pace").objects.iterator():
        pace = {"drained_at": row.drained_at, "quiet_until": row.quiet_until}
        yield "rate_limit", row.configuration, pace
    for row in apps.get_model("outkey", "Habit").objects.iterator():
        yield "baseline", row.configuration, row.facts
    for row in apps.get_model("outkey", "Notice").objects.filter(closed_at=None):
        notice = {
            "kind": row.kind,
            "configuration": row.configuration,
            "about": row.about,
            "opened_at": row.opened_at,
        }
        yield "notice", notice_key(row.kind, row.configuration, row.about), notice
    positions = apps.get_model("outkey", "Duty").objects.exclude(position=None)
    for row in positions:
        if row.name == "watch":
            yield "mark", "monitoring", {"position": row.position}
        elif row.name == "schedules":
            yield "mark", "schedules", {"at": row.position / 1000}


def notice_key(*condition: str) -> str:
    """Return the key that monitoring stores the notice of a condition by."""
    text = json.dumps(condition).encode()
    return f"{condition[0]}:{hashlib.sha256(text).hexdigest()[:32]}"


class Migration(migrations.Migration):
    dependencies = [("outkey", "0002_vouchers")]
    operations = [
        migrations.CreateModel(
            name="SharedStateRow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("key", models.CharField(max_length=200)),
                ("generation", models.PositiveBigIntegerField()),
                ("value", models.TextField()),
            ],
            options={
                "db_table": "outkey_sharedstate",
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "key"), name="outkey_one_state"
                    )
                ],
            },
        ),
        migrations.RunPython(copy_states, migrations.RunPython.noop),
        migrations.DeleteModel("Process"),
        migrations.DeleteModel("Pace"),
        migrations.DeleteModel("Habit"),
        migrations.DeleteModel("Notice"),
        migrations.DeleteModel("Duty"),
    ]
