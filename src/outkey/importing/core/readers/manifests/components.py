"""Components of a manifest: references and parameters resolved within bounds."""

import re
from collections.abc import Mapping
from urllib.parse import unquote

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.text import Text
from outkey.importing.core.readers.tree import EMPTY, Table, table, text_of

MAX_PARTS = 100_000  # of all components together
MAX_DEPTH = 60
PARAMETERS = "$parameters"
_OLD_PARAMETERS = "$options"
_SHORT = re.compile(r"\*ref\(([\w./-]{1,200})\)")
# Data inside of components, which inherits no parameters.
_DATA = frozenset(
    {"schema", "request_parameters", "request_headers", "request_body_json"}
)


class Components:
    """Resolves the components of one manifest."""

    def __init__(self, tree: Table) -> None:
        self._tree = tree
        self._count = 0

    def resolve(self, value: object) -> object:
        """Return a component with all that it refers to and inherits."""
        return self._with_parameters(self._follow_references(value, ()), EMPTY)

    def _follow_references(self, value: object, above: tuple[str, ...]) -> object:
        """Return a value with its references followed; its own keys come first."""
        self._spend(above)
        if isinstance(value, list):
            return [self._follow_references(part, (*above, "")) for part in value]
        if isinstance(value, str):
            short = _SHORT.fullmatch(value)
            if short is None:
                return value
            return self._follow("#/" + short[1].replace(".", "/"), above)
        if not isinstance(value, dict):
            return value
        own = {
            key: self._follow_references(part, (*above, ""))
            for key, part in value.items()
            if key != "$ref"
        }
        if "$ref" not in value:
            return own
        target = self._follow(text_of(value["$ref"]), above)
        return {**table(target), **own} if own else target

    def _follow(self, reference: str, above: tuple[str, ...]) -> object:
        if not reference.startswith("#/") or reference in above:
            raise ConfigError(
                Text("only references inside of the document are followed")
            )
        node: object = self._tree
        for part in reference[2:].split("/"):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            node = table(node).get(key)
        return self._follow_references(node, (*above, reference))

    def _with_parameters(
        self, value: object, inherited: Mapping[str, object], depth: int = 0
    ) -> object:
        """Return components with the parameters that they inherit as their keys."""
        self._spend(("",) * depth)
        if isinstance(value, list):
            return [self._with_parameters(v, inherited, depth + 1) for v in value]
        if not isinstance(value, dict):
            return value
        own = {**table(value.get(_OLD_PARAMETERS)), **table(value.get(PARAMETERS))}
        # Each component gets all of them, so that a few lines can make millions.
        self._spend(("",) * depth, len(inherited) + len(own))
        parameters = {**inherited, **own}
        finished: dict[str, object] = {}
        for key, part in value.items():
            if key in _DATA:
                finished[key] = part
            elif key not in {PARAMETERS, _OLD_PARAMETERS}:
                finished[key] = self._with_parameters(part, parameters, depth + 1)
        if parameters:
            for key, part in parameters.items():
                finished.setdefault(key, part)
            finished[PARAMETERS] = parameters
        return finished

    def _spend(self, above: tuple[str, ...], parts: int = 1) -> None:
        self._count += parts
        if self._count > MAX_PARTS or len(above) > MAX_DEPTH:
            raise ConfigError(Text("the components refer to each other too often"))
