"""How Django knows the embedded host."""

from django.apps import AppConfig


class ServerConfig(AppConfig):
    """The embedded host; its users are Django's own."""

    name = "outkey.hosts.server"
    label = "outkey_server"

    def ready(self) -> None:
        """Record who comes and goes."""
        from outkey.hosts.server.sign_ins import watch

        watch()
