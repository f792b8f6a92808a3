"""Commands of `manage.py` in a project that has the app."""
