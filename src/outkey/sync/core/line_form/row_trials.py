"""One field mapping, tried with the values of a sample: results and rejections."""

from collections.abc import Sequence
from dataclasses import dataclass

from outkey.sync.core.line.line import FieldMapping
from outkey.sync.core.mapping.mapping import resolve_transform
from outkey.sync.core.mapping.records import HostField, value_fault
from outkey.sync.core.mapping.transforms import MappingContext, RejectedValue, convert


class RejectedBySample(Exception):
    """A value that a row rejects; its text is the reason."""


@dataclass(frozen=True, slots=True)
class RowTrial:
    """A field mapping with all that decides what becomes of a value."""

    mapping: FieldMapping
    host: HostField | None  # None: a column that is made for the values
    context: MappingContext
    is_key: bool = False

    def result(self, value: object) -> object:
        """Return the result of a row for a value, or raise RejectedBySample."""
        resolved = resolve_transform(self.mapping, self.host)
        try:
            result = convert(resolved, value, self.context)
        except RejectedValue as rejected:
            raise RejectedBySample(str(rejected)) from None
        if reason := self._fault(result):
            raise RejectedBySample(reason)
        return result

    def reason(self, value: object) -> str:
        """Return why a value is rejected, or "" if it is not."""
        try:
            self.result(value)
        except RejectedBySample as rejected:
            return str(rejected)
        return ""

    def rejects_any(self, values: Sequence[object]) -> bool:
        """Whether one of these values is rejected."""
        return any(self.reason(value) for value in values)

    def _fault(self, result: object) -> str:
        if self.is_key and result in (None, ""):
            return "key_missing"
        if self.host is None:
            return ""
        # A value that is missing stays as the host has it.
        fault = value_fault(self.host, result, is_key=False)
        has_other = bool(self.host.choices) and result not in (None, "")
        if not fault and has_other and result not in self.host.choices:
            return "unknown_choice"
        return fault
