"""The static files of the pages: collected at the start, compressed, cached for a year.

Their names contain a digest of their content (Django's manifest storage), so that a
browser never asks for one twice, and an update never shows an old one. They are stored
in the home: nobody has to run collectstatic.
"""

import fcntl
import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from whitenoise.middleware import WhiteNoiseMiddleware

from outkey.hosts.server.web.middleware import GetResponse

YEAR = 31_536_000
# Of Django's admin, what no page of the embedded server loads.
UNUSED = (
    "admin/css/vendor/*",
    "admin/js/vendor/*",
    "admin/img/gis/*",
    "LICENSE*",
    "README*",
    "*rtl.css",
    "autocomplete.*",
    "inlines.js",
    "jquery.init.js",
    "nav_sidebar.*",
    "prepopulate*.js",
    "RelatedObjectLookups.js",
    "urlify.js",
)


class AssetMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]  # it has no types
    """Serves the static files, after they are collected."""

    FOREVER = YEAR

    def __init__(self, get_response: GetResponse) -> None:
        _collect_assets(Path(str(settings.STATIC_ROOT)))
        super().__init__(get_response)


def _collect_assets(folder: Path) -> None:
    """Collect the static files into a folder, unless they are there already."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    stamp = folder / "stamp"
    wanted = _digest_of_sources()
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
            return
        # Files of an earlier version stay, for pages that a browser shows already.
        call_command(
            "collectstatic",
            interactive=False,
            verbosity=0,
            ignore_patterns=list(UNUSED),
        )
        stamp.write_text(wanted, encoding="ascii")


def _digest_of_sources() -> str:
    """Return a digest that changes when a static file of an installed app does."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list(list(UNUSED)):
            facts = Path(storage.path(name)).stat()
            digest.update(f"{name}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode())
    return digest.hexdigest()
