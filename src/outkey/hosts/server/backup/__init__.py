"""Backups of the embedded home: the database and what proves its audit, no keys."""
