"""The installation that a process of Django has; nothing here needs users or pages."""

import threading
from pathlib import Path

from outkey.administration.engine.application import Application
from outkey.hosts.django.project import claim, home_setting, in_project
from outkey.hosts.django.wiring import install

_lock = threading.Lock()
_installed: dict[Path, Application] = {}


def installation() -> Application:
    """Return the installation that the setting OUTKEY names, one for each process."""
    home = home_setting()
    with _lock:
        if home not in _installed:
            if in_project():
                claim(home)
            _installed[home] = install(home)
        return _installed[home]
