"""The requests for the pages of a line, and the paths into their responses."""

import json

from outkey.foundation.core.origin import Location, build_target, parse_url
from outkey.sync.core.line.line import INDEX, Paging, Sync
from outkey.sync.core.line.templates import fill_body
from outkey.sync.core.paging.paging import NUMBERED, Position, parameters, place_of
from outkey.sync.engine.pull.record_mapper import mapping_paths
from outkey.sync.engine.runs.line_plan import LinePlan
from outkey.sync.engine.runs.requests import LineRequest


def expressions(sync: Sync) -> dict[str, str]:
    """Return the paths into responses that a line has, but not into records."""
    by_field = {"records": sync.records}
    if sync.pagination.kind is Paging.CURSOR:
        by_field["pagination.cursor"] = sync.pagination.cursor
    if sync.incremental.field:
        by_field["incremental.field"] = sync.incremental.field
    return by_field


def every_expression(sync: Sync) -> dict[str, str]:
    """Return all paths that a line has, also those into records, by field."""
    by_field = expressions(sync) | mapping_paths(sync.mappings)
    for number, children in enumerate(sync.children):
        place = f"children[{number}]."
        by_field[f"{place}list"] = children.list
        by_field |= {
            field: path
            for field, path in mapping_paths(children.mappings, place).items()
            if path != INDEX
        }
    return by_field


def page_request(plan: LinePlan, position: Position, since: str = "") -> LineRequest:
    """Return the request for the page at a position."""
    return LineRequest(
        path=position.at if position.is_address else plan.line.path,
        params=parameters(plan.sync, position, since),
        json=page_body(plan.sync, position, since),
    )


def page_body(sync: Sync, position: Position, since: str) -> object:
    """Return the body of a request, with its placeholders filled in."""
    if not sync.body:
        return None
    place = position.value or None
    if sync.pagination.kind in NUMBERED:
        place = int(place_of(sync, position))
    values = {
        "position": place,
        "size": sync.pagination.size,
        "since": since or None,
    }
    return fill_body(json.loads(sync.body), values)


def page_location(plan: LinePlan, position: Position, since: str = "") -> Location:
    """Return the URL of the page at a position."""
    if position.is_address:
        return parse_url(position.at)
    base = plan.configuration.base
    params = parameters(plan.sync, position, since)
    return Location(base.origin, build_target(base, plan.line.path, params))
