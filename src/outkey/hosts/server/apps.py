"""The Django app of the embedded host."""

from django.apps import AppConfig, apps

OF_USERS = ("auth", "sessions", "axes")


class ServerConfig(AppConfig):
    """The embedded host; its users are Django's own."""

    name = "outkey.hosts.server"
    label = "outkey_server"

    def ready(self) -> None:
        """Record who signs in and out, and read Django's own tables whatever is there.

        In a Django project they are the project's.
        """
        from django.db.migrations.recorder import MigrationRecorder

        from outkey.hosts.django.rows.columns import tolerate_odd_values
        from outkey.hosts.server.sign_ins import record_sign_ins

        record_sign_ins()
        for label in OF_USERS:
            tolerate_odd_values(*apps.get_app_config(label).get_models())
        # Every command reads this table first.
        tolerate_odd_values(MigrationRecorder.Migration)
