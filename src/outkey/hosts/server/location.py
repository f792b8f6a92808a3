"""Where the embedded home is, and whether the demo belongs to it.

Both the settings and the code before them need this, so it reads no setting.
"""

import os
from pathlib import Path

DEMO_MARK = Path("config", "demo")  # in a home that was served with --demo


def home() -> Path:
    """Return the folder of data and key."""
    folder = os.environ.get("OUTKEY_HOME")
    if folder:
        return Path(folder)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "outkey"


def has_demo(folder: Path) -> bool:
    """Whether the models of the demo belong to this home or to this process."""
    return os.environ.get("OUTKEY_DEMO") == "1" or (folder / DEMO_MARK).exists()
