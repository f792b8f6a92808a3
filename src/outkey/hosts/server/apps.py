"""The Django app of the embedded host."""

from django.apps import AppConfig


class ServerConfig(AppConfig):
    """The embedded host; its users are Django's own."""

    name = "outkey.hosts.server"
    label = "outkey_server"

    def ready(self) -> None:
        """Record who signs in and out."""
        from outkey.hosts.server.sign_ins import record_sign_ins

        record_sign_ins()
