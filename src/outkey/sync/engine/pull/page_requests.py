"""The requests for the pages of a line, and the paths into their responses."""

import json

from outkey.foundation.core.origin import Location, build_target, parse_url
from outkey.sync.core.line.line import INDEX, PARENT, Paging, Sync
from outkey.sync.core.line.templates import fill_body
from outkey.sync.core.mapping.mapping import Unmapped, fill_path
from outkey.sync.core.paging.paging import NUMBERED, Position, parameters, place_of
from outkey.sync.core.paging.request_values import NO_VALUES, RequestValues
from outkey.sync.core.run.reasons import BAD_PARENT, sync_failure
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
    by_field = expressions(sync) | {
        field: path
        for field, path in mapping_paths(sync.mappings).items()
        if not path.startswith(PARENT)
    }
    for number, children in enumerate(sync.children):
        place = f"children[{number}]."
        by_field[f"{place}list"] = children.list
        by_field |= {
            field: path
            for field, path in mapping_paths(children.mappings, place).items()
            if path != INDEX
        }
    return by_field


def page_request(
    plan: LinePlan, position: Position, values: RequestValues = NO_VALUES
) -> LineRequest:
    """Return the request for the page at a position."""
    if values.file is not None:
        return LineRequest(
            path=values.file.url, method="GET", is_elsewhere=values.file.is_elsewhere
        )
    return LineRequest(
        path=position.at if position.is_address else filled_path(plan, values),
        params=parameters(plan.sync, position, values),
        json=page_body(plan.sync, position, values),
    )


def page_body(sync: Sync, position: Position, values: RequestValues) -> object:
    """Return the body of a request, with its placeholders filled in."""
    if not sync.body:
        return None
    place = position.value or None
    if sync.pagination.kind in NUMBERED:
        place = int(place_of(sync, position))
    placeholders = {
        **values.placeholders(),
        "position": place,
        "size": sync.pagination.size,
    }
    return fill_body(json.loads(sync.body), placeholders)


def page_location(
    plan: LinePlan, position: Position, values: RequestValues = NO_VALUES
) -> Location:
    """Return the URL of the page at a position."""
    if values.file is not None:
        return parse_url(values.file.url)
    if position.is_address:
        return parse_url(position.at)
    base = plan.configuration.base
    params = parameters(plan.sync, position, values)
    path = filled_path(plan, values)
    return Location(base.origin, build_target(base, path, params))


def filled_path(plan: LinePlan, values: RequestValues) -> str:
    """Return the path of a request, which may name the parent or the job."""
    named = values.in_paths()
    if not named:
        return plan.line.path
    path = fill_path(plan.line.path, named)
    if isinstance(path, Unmapped):  # such a parent has no requests
        raise sync_failure(BAD_PARENT)
    return path
