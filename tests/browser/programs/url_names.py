"""Prints the name and the route of every URL of the embedded server's pages.

The HTTP interface is not for people: cli/test_http_interface.py has a table of it.
"""

import json
from collections.abc import Iterator

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES, demo=True)

from django.urls import URLPattern, URLResolver, get_resolver

INTERFACE = "api/v1/"


def routes(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, str]]:
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield pattern.name or route, route
        elif route != INTERFACE:
            yield from routes(pattern, route)


print(json.dumps(dict(routes(get_resolver()))))
