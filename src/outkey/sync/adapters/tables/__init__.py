"""Tables that outkey makes for sync lines, by SQLAlchemy."""
