"""The table of the project's own app."""

from django.db import models


class Customer(models.Model):
    name = models.CharField(max_length=10)

    def __str__(self) -> str:
        return self.name
