"""Contacts and orders: a field of each kind that can be synchronized."""

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _


class Contact(models.Model):
    """A person or company to do business with."""

    external_id = models.CharField(max_length=40, unique=True)
    name = models.CharField(max_length=80)
    email = models.EmailField(blank=True)
    kind = models.CharField(
        max_length=10,
        choices=[("person", _("person")), ("company", _("company"))],
        blank=True,
    )
    credit = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    born_on = models.DateField(null=True, blank=True)
    active = models.BooleanField(default=True)
    portal_password = models.CharField(max_length=80, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        """Names that users see."""

        verbose_name = _("contact")
        verbose_name_plural = _("contacts")

    def __str__(self) -> str:
        return self.name


class Order(models.Model):
    """An order of a contact; its number is unique within a year."""

    year = models.PositiveSmallIntegerField()
    number = models.PositiveIntegerField()
    contact = models.ForeignKey(Contact, models.PROTECT, null=True, blank=True)
    ordered_at = models.DateTimeField(null=True, blank=True)
    weight = models.FloatField(null=True, blank=True)
    details = models.JSONField(default=dict, blank=True)
    note = models.TextField(blank=True)
    reference = models.CharField(max_length=20, unique=True, null=True, blank=True)

    class Meta:
        """Names that users see."""

        verbose_name = _("order")
        verbose_name_plural = _("orders")
        constraints = (
            models.UniqueConstraint(
                fields=["year", "number"], name="demo_order_number"
            ),
        )

    def __str__(self) -> str:
        return f"{self.year}-{self.number}"

    def clean(self) -> None:
        """Refuse the number 0."""
        if self.number == 0:
            raise ValidationError(
                {"number": _("orders are counted from 1")}, code="first"
            )
