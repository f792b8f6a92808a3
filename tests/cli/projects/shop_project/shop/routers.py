"""Routers that a test may add to the settings of the project."""

from django.db import models

Model = type[models.Model]


class CustomersElsewhere:
    """Sends the customers to another database."""

    def db_for_read(self, model: Model, **_hints: object) -> str | None:
        return self.db_for_write(model)

    def db_for_write(self, model: Model, **_hints: object) -> str | None:
        return "customers" if model._meta.model_name == "customer" else None


class ReadFromReplica:
    """Reads from a copy that is always a little late."""

    def db_for_read(self, _model: Model, **_hints: object) -> str:
        return "replica"


class CustomersHere(CustomersElsewhere):
    """Sends all but the customers to another database."""

    def db_for_write(self, model: Model, **_hints: object) -> str | None:
        is_ours = model._meta.app_label in {"outkey", "shop"}
        return None if is_ours else "customers"
