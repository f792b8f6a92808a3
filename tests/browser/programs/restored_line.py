"""A version is not restored over what another user has saved in the meantime."""

import re

from clients import admin, application, apply_text, text_of

from outkey.hosts.django.models import SyncLine

DOCUMENT = """
[configuration.shop]
base_url = "https://shop.example"
authentication_type = "bearer"
[line.orders]
configuration = "shop"
path = "{path}"
"""


def save(path: str) -> None:
    apply_text(DOCUMENT.replace("{path}", path))


def seen_on(page: str) -> dict[str, str]:
    """Return what the button Restore posts."""
    found = re.search(r'name="version" value="(\d+)"', page)
    assert found
    return {"version": found[1]}


save("/first")
save("/second")
first = f"/outkey/syncline/{SyncLine.objects.get().pk}/versions/1/"
seen = seen_on(text_of(admin.get(first)))
save("/third")
refused = admin.post(first, seen)
assert refused.status_code == 422, refused.status_code
assert application.registry.line("orders").path == "/third"
page = text_of(refused)
assert "/third" in page
assert admin.post(first, seen_on(page)).status_code == 302
assert application.registry.line("orders").path == "/first"
