"""A NUL in any parameter or in a cookie is refused."""

from page_urls import SUPERUSER, restore, right_urls
from visits import SENDING_METHODS, Visits, new_client, share_of

# One at a time, so that no other one is what is refused: filters, paging, names and
# free text.
NAMES = [
    "name",
    "q",
    "after",
    "before",
    "configuration",
    "outcome",
    "line",
    "state",
    "sync",
    "next",
    "username",
    "username__startswith",
    "groups__id__exact",
    "old_password",
    "key",
    "term",
]
REFUSALS = (302, 403, 404, 405, 422)
# A program gets 400 for a NUL in the URL, and without a token 401 for everything else.
REFUSALS_OF_INTERFACE = (400, 401, 404, 405)
OF_INTERFACE = "/api/v1/"
DOCUMENT = "/api/v1/openapi.json"  # is for everybody, and reads no body
COOKIE = r'outkey_session="aaaaaaaaaaaa\000aaaaaaaaaaaaaaaaaaa"'


def refusals_of(url: str, method: str) -> tuple[int, ...]:
    """Return the statuses that refuse a NUL at a URL."""
    if not url.startswith(OF_INTERFACE):
        return REFUSALS
    reads_nothing = url == DOCUMENT and method == "post"
    return (*REFUSALS_OF_INTERFACE, *((200,) if reads_nothing else ()))


def main() -> None:
    visits = Visits()
    for number, url in enumerate(right_urls(restore())):
        for place, name in enumerate(NAMES):
            for method in share_of(SENDING_METHODS, number + place):
                status = visits.request(SUPERUSER, method, url, {name: "a\x00b"})
                if status is not None and status not in refusals_of(url, method):
                    visits.failures.append((method, url, name, status))
    response = new_client().get("/outkey/configuration/", headers={"Cookie": COOKIE})
    if response.status_code >= 500:
        visits.failures.append(("cookie", response.status_code))
    visits.finish()


main()
