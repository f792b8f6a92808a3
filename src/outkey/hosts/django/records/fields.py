"""The fields of a host's own models: which of them may be synchronized, and what they take.

Reasons are words of ours: what a model says of a value may repeat it.
"""

# ruff: noqa: SLF001 - _meta is Django's own documented door

import json
import math
import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, TypeAlias

from django.conf import settings
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.validators import EmailValidator, MaxLengthValidator
from django.db import Error, models
from django.utils import timezone

from outkey.core.sync.line import Transform
from outkey.core.sync.mapping import as_json, exactly
from outkey.core.sync.run import FieldKind, HostField

AnyField: TypeAlias = "models.Field[Any, Any]"
# Nothing outside decides who may get in, and no such value goes out.
_CREDENTIAL = re.compile(
    r"passw|secret|token|credential|signature|session|(api|private|access)_?key"
    r"|is_staff|is_superuser",
    re.IGNORECASE,
)
_UNSTORABLE = re.compile(
    "[\x00\ud800-\udfff]"
)  # PostgreSQL and UTF-8 do not take these
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
# For each way in which Django reads values, the type that it leaves as it is.
_LEFT_ALONE: dict[object, type] = {
    models.CharField.to_python: str,
    models.TextField.to_python: str,
    models.DecimalField.to_python: Decimal,
    models.IntegerField.to_python: int,
    models.BooleanField.to_python: bool,
    models.DateField.to_python: date,
}
_OF_DJANGO = ("clean", "validate", "run_validators")
# Part of what EmailValidator takes; it is asked itself about everything else.
_PLAIN_ADDRESS = re.compile(
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
    return {f.name: f for f in model._meta.concrete_fields if _is_open(f)}


def _is_open(field: AnyField) -> bool:
    if field.primary_key or not field.editable or _CREDENTIAL.search(field.name):
        return False
    return any(
        isinstance(field, known)
        and (kind is not FieldKind.LINK or _links_by_key(field))
        for known, kind in _KINDS
    )


def _links_by_key(field: AnyField) -> bool:
    return isinstance(field, models.ForeignKey) and field.target_field.primary_key


def kind_of(field: AnyField) -> FieldKind:
    """Return what a field of `fields_of` holds."""
    kind = next(kind for known, kind in _KINDS if isinstance(field, known))
    return FieldKind.CHOICE if field.choices else kind


def is_required(field: AnyField) -> bool:
    """Tell whether a new record needs a value."""
    may_be_empty = field.blank and field.empty_strings_allowed
    return not (field.null or field.has_default() or may_be_empty)


def described(field: AnyField) -> HostField:
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
        unique=_is_unique(field),
    )


def _is_unique(field: AnyField) -> bool:
    rules = field.model._meta.total_unique_constraints
    return field.unique or any(rule.fields == (field.name,) for rule in rules)


@lru_cache(maxsize=10_000)
def cleaner(field: AnyField) -> Callable[[object], object]:
    """Return what does for a field what `cleaned` does, in less time for a value that is fine.

    Only what Django's own classes would pass on unchanged is passed here, after the field's
    validators; whatever else there is to say about a value, `cleaned` says.
    """
    clean = partial(cleaned, field)
    kind = _LEFT_ALONE.get(type(field).to_python)
    ours = all(
        getattr(type(field), name) is getattr(models.Field, name) for name in _OF_DJANGO
    )
    if kind is None or not ours or not isinstance(field.choices, list | None):
        return clean
    choices = (
        None if field.choices is None else {value for value, _ in field.flatchoices}
    )
    longest, checks = _checks(field)
    is_text = kind is str

    def quick(value: object) -> object:
        if type(value) is not kind or (choices is not None and value not in choices):
            return clean(value)
        if is_text and not (0 < len(value) <= longest and value.isprintable()):  # type: ignore[arg-type, attr-defined]  # mypy does not follow `kind`
            return clean(value)
        if checks:
            try:
                for check in checks:
                    check(value)
            except Exception:  # noqa: BLE001 - the host's own code
                return clean(value)
        return value

    return quick


def _checks(field: AnyField) -> tuple[float, list[Callable[[Any], object]]]:
    """Return the length that a field admits, and its other validators."""
    longest: float = math.inf
    checks: list[Callable[[Any], object]] = []
    for validator in field.validators:
        if type(validator) is MaxLengthValidator and isinstance(
            validator.limit_value, int
        ):
            longest = min(longest, validator.limit_value)
        elif type(validator) is EmailValidator:
            checks.append(partial(_check_address, validator))
        else:
            checks.append(validator)
    return longest, checks


def _check_address(validator: EmailValidator, value: str) -> None:
    if not _PLAIN_ADDRESS.fullmatch(value):
        validator(value)


def cleaned(field: AnyField, value: object) -> object:
    """Return a value as the field keeps it, or raise ValidationError; a link is not looked for."""
    if value in (None, "") and field.empty_strings_allowed:
        value = None if field.null else ""  # as Django's own forms do
    if value is None and not field.null and field.has_default():
        value = field.get_default()
    try:
        return _cleaned(field, value)
    except (ValidationError, Error):  # what the database has is not about the value
        raise
    except Exception:  # noqa: BLE001 - a field or a validator of the host's own
        raise ValidationError("", code="invalid") from None


def _cleaned(field: AnyField, value: object) -> object:
    if isinstance(field, models.JSONField):
        return _storable_json(field, field.clean(as_json(value), None))
    if isinstance(value, list | dict):
        raise TypeError
    if isinstance(field, models.IntegerField) and isinstance(value, float | Decimal):
        value = exactly(Transform.NUMBER, value)
    if isinstance(field, models.DateTimeField):
        return _in_zone(field.clean(_with_time(value), None))
    if isinstance(field, models.ForeignKey):
        if value is None and not field.null:
            raise ValidationError("", code="null")
        key = field.target_field
        return None if value is None else _cleaned(key, _exact(key, value))
    made = field.clean(value, None)
    if isinstance(made, str) and _UNSTORABLE.search(made):
        raise ValidationError("", code="unstorable")
    if isinstance(made, float) and not math.isfinite(made):
        raise ValueError
    return made


def _exact(key: AnyField, value: object) -> object:
    """Return a link as it is meant: neither 1.5 nor true leads to record 1."""
    if not isinstance(value, str | int | float | Decimal):
        return value  # as a lookup has found it
    is_number = isinstance(key, models.IntegerField)
    return exactly(Transform.NUMBER if is_number else Transform.TEXT, value)


def _storable_json(field: AnyField, value: object) -> object:
    text = json.dumps(
        value, cls=getattr(field, "encoder", None), ensure_ascii=False, allow_nan=False
    )
    if _UNSTORABLE.search(text.replace("\\u0000", "\x00")):
        raise ValidationError("", code="unstorable")
    return value


def _with_time(value: object) -> object:
    is_day = isinstance(value, date) and not isinstance(value, datetime)
    return datetime.combine(value, time()) if is_day else value  # type: ignore[arg-type]  # mypy does not follow the name


def _in_zone(value: object) -> object:
    """Return a moment with a zone where the project has them, and without one where not."""
    if not isinstance(value, datetime) or timezone.is_aware(value) == settings.USE_TZ:
        return value
    return timezone.make_aware(value) if settings.USE_TZ else timezone.make_naive(value)


def fault(error: ValidationError) -> tuple[str, str]:
    """Return the field and the reason of a refusal, without a word of its message."""
    if hasattr(error, "error_dict"):
        name, errors = next(iter(error.error_dict.items()), ("", []))
    else:
        name, errors = "", error.error_list
    reason = _REASONS.get(str(errors[0].code), "invalid") if errors else "invalid"
    return name.removeprefix(NON_FIELD_ERRORS), reason
