"""The settings of the project, with outkey's app and an app of its own."""

from pathlib import Path

BASE = Path(__file__).parents[1]
SECRET_KEY = "of the project"
USE_TZ = True
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "outkey.hosts.django",
    "shop",
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": BASE / "project.db",
    }
}
OUTKEY = {"HOME": BASE / "outkey home"}
