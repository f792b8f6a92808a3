"""Vouchers take the place of the seals of scripts, which were secrets named `script`.

No migration has the key, so nothing is vouched for here: `outkey secret confirm` lists
what was stored before, and a user confirms it.
"""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def delete_seals(apps: Apps, _editor: BaseDatabaseSchemaEditor) -> None:
    """Delete the seals; a voucher covers the script instead."""
    apps.get_model("outkey", "SecretValue").objects.filter(field="script").delete()


class Migration(migrations.Migration):
    dependencies = [("outkey", "0001_initial")]
    operations = [migrations.RunPython(delete_seals, migrations.RunPython.noop)]
