"""The fields of a project's models: which may be synchronized, and what they store.

A refusal has a reason of ours: the message of a model may repeat the value.
"""

# ruff: noqa: SLF001 - _meta is a documented interface of Django

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache, partial
from types import NoneType
from typing import Any, TypeAlias

from django.conf import settings
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.validators import (
    DecimalValidator,
    EmailValidator,
    MaxLengthValidator,
)
from django.db import Error, models
from django.utils import timezone

from outkey.sync.core.line.line import Transform
from outkey.sync.core.mapping.json_values import as_json
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.mapping.storable import UNSTORABLE
from outkey.sync.core.mapping.transforms import convert_exactly

AnyField: TypeAlias = "models.Field[Any, Any]"
# No API decides who may sign in, and no such value is sent to one.
_CREDENTIAL = re.compile(
    r"passw|secret|token|credential|signature|session|(api|private|access)_?key"
    r"|is_staff|is_superuser",
    re.IGNORECASE,
)
_KINDS: tuple[tuple[type[AnyField], FieldKind], ...] = (
    (models.BooleanField, FieldKind.BOOLEAN),
    (models.DecimalField, FieldKind.DECIMAL),
    (models.FloatField, FieldKind.DECIMAL),
    (models.IntegerField, FieldKind.NUMBER),
    (models.DateTimeField, FieldKind.DATETIME),  # which is a DateField too
    (models.DateField, FieldKind.DATE),
    (models.JSONField, FieldKind.JSON),
    (models.ForeignKey, FieldKind.LINK),
    (models.CharField, FieldKind.TEXT),
    (models.TextField, FieldKind.TEXT),
    (models.UUIDField, FieldKind.TEXT),
)
# For each `to_python` of Django, the type of value that it returns unchanged.
_PASSED_TYPES: dict[object, type] = {
    models.CharField.to_python: str,
    models.TextField.to_python: str,
    models.DecimalField.to_python: Decimal,
    models.IntegerField.to_python: int,
    models.BooleanField.to_python: bool,
    models.DateField.to_python: date,
    models.DateTimeField.to_python: datetime,
}
_CLEANING_METHODS = ("clean", "validate", "run_validators")
# Some of what EmailValidator accepts; everything else is left to it.
_PLAIN_EMAIL = re.compile(
    r"[\w+-]{1,40}(\.[\w+-]{1,40}){0,2}@([a-z\d]{1,40}\.){1,3}[a-z]{2,40}", re.ASCII
)
_REASONS = {
    **dict.fromkeys(("null", "blank", "required"), "missing"),
    **dict.fromkeys(("unique", "unique_together"), "taken"),
    "invalid_choice": "unknown_choice",
    "max_length": "too_long",
    "unstorable": "unstorable_character",
    **dict.fromkeys(
        (
            "max_value",
            "min_value",
            "max_digits",
            "max_decimal_places",
            "max_whole_digits",
        ),
        "out_of_range",
    ),
}


@lru_cache(maxsize=1000)
def fields_of(model: type[models.Model]) -> dict[str, AnyField]:
    """Return the fields that may be synchronized, by name."""
    return {f.name: f for f in model._meta.concrete_fields if is_open(f)}


@lru_cache(maxsize=1000)
def times_of(model: type[models.Model]) -> dict[str, AnyField]:
    """Return the times that the model sets itself, by name: pairs compare them."""
    return {
        field.name: field
        for field in model._meta.concrete_fields
        if isinstance(field, models.DateTimeField) and not field.editable
    }


def is_open(field: AnyField) -> bool:
    """Whether a field may be synchronized."""
    if field.primary_key or not field.editable or _CREDENTIAL.search(field.name):
        return False
    return any(
        isinstance(field, field_class)
        and (kind is not FieldKind.LINK or _links_by_key(field))
        for field_class, kind in _KINDS
    )


def _links_by_key(field: AnyField) -> bool:
    """Whether a field is a link to the primary key of another model."""
    return isinstance(field, models.ForeignKey) and field.target_field.primary_key


def kind_of(field: AnyField) -> FieldKind:
    """Return the kind of a field of `fields_of`."""
    kind = next(kind for field_class, kind in _KINDS if isinstance(field, field_class))
    return FieldKind.CHOICE if field.choices else kind


def is_required(field: AnyField) -> bool:
    """Whether a new record needs a value."""
    may_be_empty = field.blank and field.empty_strings_allowed
    return not (field.null or field.has_default() or may_be_empty)


def describe_field(field: AnyField) -> HostField:
    """Return a field as mappings see it."""
    linked = field.related_model if isinstance(field, models.ForeignKey) else None
    return HostField(
        field.name,
        str(field.verbose_name),
        kind_of(field),
        required=is_required(field),
        longest=field.max_length,
        choices=tuple(str(value) for value, _ in field.flatchoices),
        target=linked._meta.label_lower if isinstance(linked, type) else "",
        unique=is_unique(field),
    )


def is_unique(field: AnyField) -> bool:
    """Whether the table refuses two equal values."""
    rules = field.model._meta.total_unique_constraints
    return field.unique or any(rule.fields == (field.name,) for rule in rules)


@lru_cache(maxsize=10_000)
def cleaner_of(field: AnyField) -> Callable[[object], object]:
    """Return a faster `clean_value` of a field."""
    clean = partial(clean_value, field)
    plain = plain_values(field)
    if plain is None:
        return clean
    return lambda value: value if plain.are((value,)) else clean(value)


@dataclass(frozen=True, slots=True)
class PlainValues:
    """Values that a field stores as they are; all others are left to `clean_value`.

    Only of fields that are cleaned by Django's own classes, which would return them
    unchanged.
    """

    passed_type: type
    may_be_null: bool
    may_be_blank: bool  # an empty text
    choices: frozenset[object] | None
    max_length: float
    # Each tells whether all values of a column are valid; False also if unsure.
    checks: tuple[Callable[[Sequence[Any]], bool], ...]

    def are(self, column: Sequence[Any]) -> bool:
        """Whether the field stores all values of a column as they are."""
        values = column
        types = set(map(type, column))
        if self.may_be_null and NoneType in types:
            types.remove(NoneType)
            values = [value for value in values if value is not None]
        if types and types != {self.passed_type}:
            return False
        if self.may_be_blank:
            values = list(filter(None, values))
        if not values:
            return True
        if self.choices is not None and not self.choices.issuperset(values):
            return False
        if self.passed_type is str and not (
            all(values)
            and max(map(len, values)) <= self.max_length
            and "".join(values).isprintable()
        ):
            return False
        return all(check(values) for check in self.checks)


@lru_cache(maxsize=10_000)
def plain_values(field: AnyField) -> PlainValues | None:
    """Return the values that a field stores as they are; None if only it can decide."""
    passed_type = _PASSED_TYPES.get(type(field).to_python)
    is_django_cleaning = all(
        getattr(type(field), name) is getattr(models.Field, name)
        for name in _CLEANING_METHODS
    )
    if (
        passed_type is None
        or not is_django_cleaning
        or not isinstance(field.choices, list | None)
    ):
        return None
    choices = None
    if field.choices is not None:
        choices = frozenset(value for value, _ in field.flatchoices)
    max_length: float = math.inf
    checks: list[Callable[[Sequence[Any]], bool]] = []
    if passed_type is datetime:
        checks.append(_have_zone_of_project)
    for validator in field.validators:
        if type(validator) is MaxLengthValidator and isinstance(
            validator.limit_value, int
        ):
            max_length = min(max_length, validator.limit_value)
        else:
            checks.append(_column_check(validator))
    return PlainValues(
        passed_type,
        may_be_null=field.blank and field.null,
        may_be_blank=field.blank and not field.null and passed_type is str,
        choices=choices,
        max_length=max_length,
        checks=tuple(checks),
    )


def _column_check(
    validator: Callable[[Any], object],
) -> Callable[[Sequence[Any]], bool]:
    """Return a check of all values of a column, if possible without a call for each."""
    if type(validator) is EmailValidator:
        is_plain_email = _PLAIN_EMAIL.fullmatch
        return lambda values: all(map(is_plain_email, values))
    if type(validator) is DecimalValidator and validator.max_digits:
        pattern = decimal_pattern(validator.max_digits, validator.decimal_places or 0)
        return lambda values: all(map(pattern.fullmatch, map(str, values)))
    return partial(_are_accepted, validator)


def decimal_pattern(
    max_digits: int, places: int, *, with_all_places: bool = False
) -> re.Pattern[str]:
    """Return a pattern for the texts of decimals that fit into so many digits."""
    whole = rf"\d{{1,{max_digits - places}}}" if max_digits > places else "0"
    fraction = ""
    if places:
        fraction = (
            rf"\.\d{{{places}}}" if with_all_places else rf"(\.\d{{1,{places}}})?"
        )
    return re.compile(f"-?{whole}{fraction}", re.ASCII)


def _are_accepted(validator: Callable[[Any], object], values: Sequence[object]) -> bool:
    """Whether a validator accepts all values."""
    try:
        for value in values:
            validator(value)
    except Exception:  # noqa: BLE001 - the host's own code; `clean_value` reports it
        return False
    return True


def _have_zone_of_project(values: Sequence[datetime]) -> bool:
    """Whether times have a zone if the project uses them, and none if not."""
    return all(timezone.is_aware(value) == settings.USE_TZ for value in values)


def clean_value(field: AnyField, value: object) -> object:
    """Return a value as the field stores it, or raise ValidationError.

    Whether a link leads to a record is not checked.
    """
    if value in (None, "") and field.empty_strings_allowed:
        value = None if field.null else ""  # as Django's own forms do
    if value is None and not field.null and field.has_default():
        value = field.get_default()
    try:
        return _clean(field, value)
    except (ValidationError, Error):  # an error of the database is not about the value
        raise
    except Exception:  # noqa: BLE001 - a field or a validator of the host's own
        raise ValidationError("", code="invalid") from None


def _clean(field: AnyField, value: object) -> object:
    if isinstance(field, models.JSONField):
        return _storable_json(field, field.clean(as_json(value), None))
    if isinstance(value, list | dict):
        raise TypeError
    if isinstance(field, models.IntegerField) and isinstance(value, float | Decimal):
        value = convert_exactly(Transform.NUMBER, value)
    if isinstance(field, models.DateTimeField):
        return _in_zone(field.clean(_with_time(value), None))
    if isinstance(field, models.ForeignKey):
        if value is None and not field.null:
            raise ValidationError("", code="null")
        key = field.target_field
        return None if value is None else _clean(key, _exact_link(key, value))
    stored = field.clean(value, None)
    if isinstance(stored, str) and UNSTORABLE.search(stored):
        raise ValidationError("", code="unstorable")
    if isinstance(stored, float) and not math.isfinite(stored):
        raise ValueError
    return stored


def _exact_link(key: AnyField, value: object) -> object:
    """Return the key of a link: neither 1.5 nor true is record 1."""
    if not isinstance(value, str | int | float | Decimal):
        return value  # from a lookup
    is_number = isinstance(key, models.IntegerField)
    return convert_exactly(Transform.NUMBER if is_number else Transform.TEXT, value)


def _storable_json(field: AnyField, value: object) -> object:
    text = json.dumps(
        value, cls=getattr(field, "encoder", None), ensure_ascii=False, allow_nan=False
    )
    if UNSTORABLE.search(text.replace("\\u0000", "\x00")):
        raise ValidationError("", code="unstorable")
    return value


def _with_time(value: object) -> object:
    """Return the beginning of a day; anything else as it is."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value


def _in_zone(value: object) -> object:
    """Return a time with a zone if the project uses them, and without one if not."""
    if not isinstance(value, datetime) or timezone.is_aware(value) == settings.USE_TZ:
        return value
    return timezone.make_aware(value) if settings.USE_TZ else timezone.make_naive(value)


def fault_of(error: ValidationError) -> tuple[str, str]:
    """Return the field and the reason of a refusal, without its message."""
    if hasattr(error, "error_dict"):
        name, errors = next(iter(error.error_dict.items()), ("", []))
    else:
        name, errors = "", error.error_list
    reason = _REASONS.get(str(errors[0].code), "invalid") if errors else "invalid"
    return name.removeprefix(NON_FIELD_ERRORS), reason
