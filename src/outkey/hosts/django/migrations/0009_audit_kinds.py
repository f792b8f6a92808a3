"""Changes, sign-ins and failures are found among millions of other records."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from outkey.sending.core.audit.chain import facts_of, label_of

BATCH = 2000


def fill_labels(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Set kind and actor of the stored records from their bodies, which stay as is."""
    record_model = apps.get_model("outkey", "AuditRecord")
    rows = record_model.objects.values_list("id", "body").iterator(chunk_size=BATCH)
    changed = []
    for number, body in rows:
        try:
            label = label_of(facts_of(bytes(body)))
        except (TypeError, ValueError):  # tampered with: the verification reports it
            continue
        if label.kind:
            changed.append(record_model(id=number, kind=label.kind, actor=label.actor))
    record_model.objects.bulk_update(changed, ["kind", "actor"], batch_size=BATCH)


class Migration(migrations.Migration):
    dependencies = [
        ("outkey", "0008_user_settings"),
    ]

    operations = [
        migrations.AddField(
            model_name="auditrecord",
            name="actor",
            field=models.CharField(blank=True, db_default="", max_length=200),
        ),
        migrations.AddField(
            model_name="auditrecord",
            name="kind",
            field=models.CharField(max_length=10, null=True),
        ),
        migrations.RunPython(fill_labels, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="auditrecord",
            index=models.Index(
                condition=models.Q(("kind__isnull", False)),
                fields=["kind", "-id"],
                name="outkey_audit_by_kind",
            ),
        ),
    ]
