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
COOKIE = r'outkey_session="aaaaaaaaaaaa\000aaaaaaaaaaaaaaaaaaa"'


def main() -> None:
    visits = Visits()
    for number, url in enumerate(right_urls(restore())):
        for place, name in enumerate(NAMES):
            for method in share_of(SENDING_METHODS, number + place):
                status = visits.request(SUPERUSER, method, url, {name: "a\x00b"})
                if status is not None and status not in REFUSALS:
                    visits.failures.append((method, url, name, status))
    response = new_client().get("/outkey/configuration/", headers={"Cookie": COOKIE})
    if response.status_code >= 500:
        visits.failures.append(("cookie", response.status_code))
    visits.finish()


main()
