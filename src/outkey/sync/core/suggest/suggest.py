"""Suggesting a line from one sample: records, pages, keys and field mappings.

Everything is proposed with its reason. Nothing here sends or reads anything: the engine
brings the response, without any secret that it repeats.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from outkey.foundation.core.origin import Location, without_parameters
from outkey.foundation.core.text import Text, counted
from outkey.foundation.core.toml.text import toml_value
from outkey.sending.core.request.message import ResponseHeaders
from outkey.sync.core.formats.guessing import AS_JSON, FormatGuess
from outkey.sync.core.line.fields import (
    INCREMENTAL_FIELDS,
    PAGINATION_FIELDS,
    RESPONSE_FIELDS,
)
from outkey.sync.core.line.line import (
    FieldMapping,
    Pagination,
    Paging,
    RecordFormat,
    ResponseFormat,
    Sync,
    SyncLine,
    Transform,
)
from outkey.sync.core.line.table import written_table
from outkey.sync.core.mapping.excerpt import excerpt_of
from outkey.sync.core.mapping.records import FieldKind, HostField
from outkey.sync.core.mapping.targets import MAX_OWN_NAME, TABLE_PREFIX
from outkey.sync.core.paging.response import Record
from outkey.sync.core.suggest.fields import SampleFields, fields_of
from outkey.sync.core.suggest.hosts import AS_IT_IS, mapping_for, path_for
from outkey.sync.core.suggest.keys import guess_keys
from outkey.sync.core.suggest.names import (
    Path,
    column_name,
    comparable_name,
    expression_of,
    snake_case,
)
from outkey.sync.core.suggest.paging import PagedSample, PagingGuess, guess_paging
from outkey.sync.core.suggest.records import (
    MAX_SAMPLE,
    FoundRecords,
    find_records,
    objects_in,
)
from outkey.sync.core.suggest.requests import RequestedTime, requested_time
from outkey.sync.core.suggest.values import Guess, guess_transform

# Names of fields with the time of the last change, without punctuation.
CHANGE_TIMES = (
    "updatedat",
    "modifiedat",
    "changedat",
    "lastmodified",
    "lastmodifieddate",
    "lastmodifieddatetime",
    "updateddateutc",
    "updated",
    "modified",
    "datemodified",
    "dateupdated",
    "systemmodstamp",
    "lasteditedtime",
    "hslastmodifieddate",
    "updatedon",
    "modifiedon",
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One response of an API, and what the line has already."""

    document: object
    headers: ResponseHeaders
    location: Location  # of the request
    line: SyncLine
    format: FormatGuess = AS_JSON
    # What the line's own expression finds; None if it has none, or finds no objects.
    records: Sequence[Record] | None = None
    target: str = ""
    host_fields: tuple[HostField, ...] = ()  # of the target, if the host has them


@dataclass(frozen=True, slots=True)
class FieldSuggestion:
    """One field mapping, and why."""

    mapping: FieldMapping
    why: Text


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Suggestions to complete a line, with their reasons."""

    records: str
    records_why: Text
    pagination: Pagination
    pagination_why: Text
    keys: tuple[str, ...]
    keys_why: Text
    fields: tuple[FieldSuggestion, ...]
    notes: tuple[Text, ...]
    target: str
    count: int = 0  # of the records on the page that was looked at
    response: ResponseFormat = AS_JSON.format
    response_why: Text = AS_JSON.why
    is_paging_assumed: bool = False  # the response shows no way to request pages
    changed_field: str = ""  # what has the time of the last change
    time: RequestedTime | None = None  # in the request of the sample

    @property
    def is_other_format(self) -> bool:
        """Whether the response is not JSON."""
        return self.response.format is not RecordFormat.JSON

    @property
    def key_paths(self) -> tuple[str, ...]:
        """The paths of the fields that identify a record."""
        mappings = (field.mapping for field in self.fields)
        return tuple(mapping.api for mapping in mappings if mapping.host in self.keys)

    def with_note(self, note: Text | None) -> "Suggestion":
        """Return the suggestion with one more note, if there is one."""
        return self if note is None else replace(self, notes=(*self.notes, note))

    def form_notes(self) -> tuple[Text, ...]:
        """Return the notes as a form needs them, with the labels of its fields."""
        if self.time is not None:
            setting = written_table(INCREMENTAL_FIELDS, self.time.incremental)
            values = toml_value(setting)
            words = Text(
                "Incremental {setting}: {why}", setting=values, why=self.time.why
            )
            return *self.notes, words
        if not self.changed_field:
            return self.notes
        changes = Text(
            "{name} has the time of the last change: if the API has a parameter"
            " for changes since then, such as updated_since, enter that parameter"
            " as {parameter}, and {name} as {field}",
            name=self.changed_field,
            parameter=Text("Parameter of changes"),
            field=Text("Field of changes"),
        )
        return *self.notes, changes

    def document_notes(self) -> tuple[Text, ...]:
        """Return the notes as the author of a document needs them, with its keys."""
        if not self.changed_field or self.time is not None:
            return self.notes
        incremental = {"parameter": "updated_since", "field": self.changed_field}
        changes = Text(
            "{name} has the time of the last change: if the API has a parameter"
            " for changes since then, such as updated_since, add {setting}",
            name=self.changed_field,
            setting=f"incremental = {toml_value(incremental)}",
        )
        return *self.notes, changes

    def sentences(self) -> tuple[Text, ...]:
        """Return all reasons and notes, each with what it is about."""
        about_keys = Text("Key: {why}", why=self.keys_why)
        if self.keys:
            names = ", ".join(map(excerpt_of, self.keys))
            about_keys = Text("{names}: {why}", names=names, why=self.keys_why)
        about_format = [Text("Format: {why}", why=self.response_why)]
        return (
            *(about_format if self.is_other_format else []),
            Text("Records: {why}", why=self.records_why),
            Text("Pages: {why}", why=self.pagination_why),
            about_keys,
            *self.form_notes(),
        )

    def facts(self) -> dict[str, object]:
        """Return the suggestion as programs read it."""
        facts: dict[str, object] = {
            "records": self.records,
            "pagination": {"kind": str(self.pagination.kind)}
            | written_table(PAGINATION_FIELDS, self.pagination),
            "keys": list(self.keys),
            "fields": [
                {
                    "api": field.mapping.api,
                    "host": field.mapping.host,
                    "transform": str(field.mapping.transform),
                    "options": dict(field.mapping.options),
                    "why": field.why,
                }
                for field in self.fields
            ],
            "why": {
                "records": self.records_why,
                "pagination": self.pagination_why,
                "keys": self.keys_why,
                "notes": list(self.document_notes()),
            },
        }
        if self.is_other_format:
            facts["response"] = written_table(RESPONSE_FIELDS, self.response)
        if self.time is not None:
            setting = written_table(INCREMENTAL_FIELDS, self.time.incremental)
            facts |= {"incremental": setting | {"why": self.time.why}}
        return facts

    def response_parts(self) -> list[object]:
        """Return everything that repeats the response, to be searched for secrets."""
        rows = [
            (field.mapping.api, field.mapping.host, dict(field.mapping.options))
            for field in self.fields
        ]
        notes = self.document_notes()
        whys = [self.records_why, self.pagination_why, self.keys_why, *notes]
        if self.time is not None:
            whys.append(self.time.why)  # it names a field of the response
        texts = [*whys, *(field.why for field in self.fields)]
        paging = written_table(PAGINATION_FIELDS, self.pagination)
        return [self.records, paging, rows, [text.values for text in texts]]

    def completed_line(self, line: SyncLine) -> SyncLine:
        """Return a line with what is suggested; what it has besides stays.

        Parameters that the pages set are removed from its path and query: they would
        be sent twice.
        """
        paging = self.pagination
        parameters = {paging.position_parameter, paging.size_parameter} - {""}
        sync = line.sync or Sync()
        incremental = sync.incremental
        if self.time is not None:
            incremental = self.time.incremental
            parameters |= self.time.parameters
        return replace(
            line,
            path=without_parameters(line.path, parameters),
            sync=replace(
                sync,
                target=self.target,
                records=self.records,
                response=self.response,
                pagination=paging,
                incremental=incremental,
                keys=self.keys,
                mappings=tuple(field.mapping for field in self.fields),
                query=tuple(pair for pair in sync.query if pair[0] not in parameters),
            ),
        )


def suggest(sample: Sample) -> Suggestion:
    """Return the suggestions to complete a line."""
    word = last_word(sample.line.path)
    found = found_records(sample, word)
    fields = fields_of(found.records)
    usable = fields.usable()
    keys, keys_why = guess_keys(usable, word)
    guesses = {
        path: guess_transform(path[-1], values) for path, values in usable.items()
    }
    paging = _paging(sample, found, keys)
    changed_field = _changed_field(guesses)
    suggested, mapping_notes = _mapped_fields(sample, fields, guesses)
    if not {*keys} <= suggested.keys():
        keys_why = _unmapped_key_reason(keys)
        keys = ()
    notes = (*_notes(sample, found, fields), *_body_notes(sample, paging))
    return Suggestion(
        records=found.expression,
        records_why=found.why,
        pagination=paging.pagination,
        pagination_why=paging.why,
        keys=tuple(suggested[path].mapping.host for path in keys),
        keys_why=keys_why,
        fields=tuple(
            _as_required(field) if path in keys else field
            for path, field in suggested.items()
        ),
        notes=(*notes, *mapping_notes),
        target=sample.target or default_target(sample.line.name),
        count=found.count,
        response=sample.format.format,
        response_why=sample.format.why,
        is_paging_assumed=paging.is_assumed,
        changed_field=changed_field,
        time=requested_time(sample.line, changed_field),
    )


def _mapped_fields(
    sample: Sample, fields: SampleFields, guesses: Mapping[Path, Guess]
) -> tuple[dict[Path, FieldSuggestion], list[Text]]:
    """Return the fields with their mappings, and notes about those without one."""
    if sample.host_fields:
        return onto_host(sample.host_fields, fields, guesses)
    return onto_columns(guesses), []


def _unmapped_key_reason(keys: Sequence[Path]) -> Text:
    return Text(
        "the key of the API, {names}, is not mapped to a field of the model: enter the"
        " key yourself",
        names=", ".join(excerpt_of(expression_of(path)) for path in keys),
    )


def default_target(name: str) -> str:
    """Return the table for a line without a target."""
    table = snake_case(name) or "records"
    if table[0].isdigit():
        table = f"t_{table}"
    return TABLE_PREFIX + table[:MAX_OWN_NAME].rstrip("_")


def last_word(path: str) -> str:
    """Return the last word of a path: contacts of /v1/contacts.json."""
    last = path.partition("?")[0].rstrip("/").rpartition("/")[2]
    return last.partition(".")[0]


def found_records(sample: Sample, word: str) -> FoundRecords:
    """Return the records, where the line finds them if it finds some."""
    if sample.records and sample.line.sync is not None:
        return FoundRecords(
            sample.line.sync.records,
            counted(
                len(sample.records),
                Text("the line has the place already, and 1 object is there"),
                Text(
                    "the line has the place already, and {count} objects are there",
                    count=len(sample.records),
                ),
            ),
            objects_in(sample.records),
            len(sample.records),
        )
    found = find_records(sample.document, word)
    if found.is_single and sample.format.format.format is RecordFormat.XML:
        # One element alone; with others of its name it would be a list.
        return replace(found, expression=found.expression.strip("[]"))
    return found


def _paging(sample: Sample, found: FoundRecords, keys: Sequence[Path]) -> PagingGuess:
    sync = sample.line.sync
    if sync is not None and sync.pagination.kind is not Paging.NONE:
        return PagingGuess(
            sync.pagination, Text("the line already defines how pages are requested")
        )
    key = expression_of(keys[0]) if len(keys) == 1 else ""
    return guess_paging(
        PagedSample(sample.document, sample.headers, sample.location, found, key)
    )


def onto_columns(
    guesses: Mapping[Path, Guess], columns: Collection[str] = ()
) -> dict[Path, FieldSuggestion]:
    """Return a column for each field; `columns` are taken already."""
    suggested: dict[Path, FieldSuggestion] = {}
    taken = {*columns}
    for path, guess in guesses.items():
        name = column_name(path, taken)
        taken.add(name)
        mapping = FieldMapping(
            expression_of(path), name, guess.transform, options=guess.options
        )
        suggested[path] = FieldSuggestion(mapping, guess.why)
    return suggested


def onto_host(
    host_fields: Sequence[HostField],
    fields: SampleFields,
    guesses: Mapping[Path, Guess],
) -> tuple[dict[Path, FieldSuggestion], list[Text]]:
    """Return a mapping for each field of the model whose name the API has too."""
    suggested: dict[Path, FieldSuggestion] = {}
    notes = []
    for host in host_fields:
        paths = [path for path in guesses if path not in suggested]
        if host.kind is FieldKind.JSON:
            paths += [*fields.lists, *fields.objects]
        path = path_for(host, paths)
        if path is not None:
            values = fields.values.get(path, [])
            suggestion = mapping_for(host, path, guesses.get(path, AS_IT_IS), values)
            if isinstance(suggestion, Text):
                notes.append(suggestion)
            else:
                suggested[path] = FieldSuggestion(*suggestion)
        elif host.required:
            notes.append(
                Text(
                    "the model requires {field}, and nothing in the sample has its"
                    " name: map it yourself, for example to a constant",
                    field=host.name,
                )
            )
    rest = [
        excerpt_of(expression_of(path)) for path in guesses if path not in suggested
    ]
    if rest:
        names = ", ".join(rest[:20]) + (", …" if len(rest) > 20 else "")
        notes.append(Text("without a field of the model: {names}", names=names))
    return suggested, notes


def _as_required(field: FieldSuggestion) -> FieldSuggestion:
    return replace(field, mapping=replace(field.mapping, required=True))


def _notes(
    sample: Sample,
    found: FoundRecords,
    fields: SampleFields,
) -> list[Text]:
    notes = []
    if found.count > MAX_SAMPLE:
        notes.append(
            Text("only the first {count} records were looked at", count=MAX_SAMPLE)
        )
    notes += fields.notes()
    if sample.line.sync is not None and sample.line.sync.script:
        notes.append(
            Text("the script of the line was not run: the fields are those of the API")
        )
    return notes


def _changed_field(guesses: Mapping[Path, Guess]) -> str:
    """Return the field that has the time of the last change, "" if none has."""
    changed = (
        path
        for path, guess in guesses.items()
        if comparable_name(path[-1]) in CHANGE_TIMES
        and guess.transform is Transform.DATETIME
    )
    path = next(changed, None)
    return "" if path is None else excerpt_of(expression_of(path))


def _body_notes(sample: Sample, paging: PagingGuess) -> list[Text]:
    """Say what a request with a body needs for its pages."""
    body = sample.line.sync.body if sample.line.sync is not None else ""
    parameter = paging.pagination.position_parameter
    if not body or not parameter or "{position}" in body:
        return []
    return [
        Text(
            "the parameter {name} is sent in the query; if the API expects it in the"
            " body, write {{position}} there",
            name=excerpt_of(parameter),
        )
    ]
