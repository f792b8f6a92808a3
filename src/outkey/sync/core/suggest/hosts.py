"""Mapping the fields of a sample onto the fields of the host's own model, by name."""

from collections.abc import Sequence

from outkey.foundation.core.text import Text
from outkey.sync.core.line.line import FieldMapping, Transform
from outkey.sync.core.mapping.mapping import BY_KIND
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.suggest.names import (
    Path,
    comparable_name,
    expression_of,
    inner_path,
)
from outkey.sync.core.suggest.values import Guess, guess_moment

# By the host's name: what APIs call the same.
_OTHER_NAMES = {
    "externalid": ("id", "uuid", "guid"),
    "remoteid": ("id", "uuid", "guid"),
    "apiid": ("id", "uuid", "guid"),
    "email": ("mail", "emailaddress"),
    "name": ("fullname", "displayname", "title", "label"),
    "phone": ("telephone", "phonenumber", "tel"),
    "kind": ("type",),
    "type": ("kind",),
    "zip": ("postalcode", "postcode", "zipcode"),
    "number": ("no", "code"),
}
_MOMENTS = frozenset({Transform.DATE, Transform.DATETIME})

AS_IT_IS = Guess(Transform.AS_IS, Text("a list or an object, stored as it is"))


def path_for(host: HostField, paths: Sequence[Path]) -> Path | None:
    """Return the field of the API that has the name of a host's field, if any.

    The name of a nested field is that of its whole path: customer.id is customer_id.
    """
    name = comparable_name(host.name)
    names = [name, *_OTHER_NAMES.get(name, ())]
    if host.kind is FieldKind.LINK:
        names.append(f"{name}id")
    by_name: dict[str, Path] = {}
    for path in paths:
        by_name.setdefault(comparable_name("".join(inner_path(path))), path)
    return next((by_name[name] for name in names if name in by_name), None)


def mapping_for(
    host: HostField, path: Path, guess: Guess, values: Sequence[object]
) -> tuple[FieldMapping, Text] | Text:
    """Return the mapping onto a host's field and its reason, or why it is missing."""
    if host.kind is FieldKind.LINK:
        return Text(
            "{field} is a link to {target}: map it with the transform lookup",
            field=host.name,
            target=host.target,
        )
    fitting = fitting_guess(host, guess, values)
    if fitting is None:
        return Text(
            "{field} has the same name as {api}, but does not take its values",
            field=host.name,
            api=expression_of(path),
        )
    mapping = FieldMapping(
        expression_of(path), host.name, fitting.transform, options=fitting.options
    )
    return mapping, Text("{why}; the same name", why=fitting.why)


def fitting_guess(
    host: HostField, guess: Guess, values: Sequence[object]
) -> Guess | None:
    """Return the transform that the kind of a host's field needs, if it fits."""
    present = [value for value in values if value is not None]
    if host.kind is FieldKind.CHOICE:
        return _choice_guess(host, [str(value) for value in present if value != ""])
    transform = BY_KIND.get(host.kind, Transform.AS_IS)
    if transform in _MOMENTS and guess.transform not in _MOMENTS:
        # The host's field shows what the name does not.
        guess = guess_moment(values) or guess
    is_same = guess.transform is transform or {guess.transform, transform} <= _MOMENTS
    options = guess.options if is_same else {}
    if transform is Transform.TEXT and guess.transform is Transform.CHOICE:
        return guess
    fitting = Guess(transform, guess.why, options)
    return fitting if fitting.fits(present) else None


def _choice_guess(host: HostField, values: Sequence[str]) -> Guess | None:
    """Return the transform for a field with choices: as they are, or by a table."""
    if all(value in host.choices for value in values):
        return Guess(Transform.TEXT, Text("values that the field has as choices"))
    by_name = {comparable_name(choice): choice for choice in host.choices}
    table = {value: by_name.get(comparable_name(value), "") for value in values}
    if not all(table.values()):
        return None
    why = Text("values that the field has as choices in another spelling")
    return Guess(Transform.CHOICE, why, table)
