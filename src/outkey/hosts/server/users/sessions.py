"""Sessions whose keys are not in the database: nobody who reads it can sign in."""

import hashlib
from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.utils import timezone


class SessionStore(DatabaseSessions):
    """Stores each session under the hash of the key that the browser has."""

    def load(self) -> dict[str, Any]:
        """Return the data of the browser's session; an unknown key is dropped."""
        row = self.model.objects.filter(
            session_key=_storage_key(self.session_key), expire_date__gt=timezone.now()
        ).first()
        if row is None:
            self._session_key = None
            return {}
        return self.decode(row.session_data)

    def exists(self, session_key: str) -> bool:
        """Whether there is a session for a key of a browser."""
        return super().exists(_storage_key(session_key))

    def create_model_instance(self, data: Any) -> Any:  # noqa: ANN401 - Django's own
        """Return the row of this session."""
        row = super().create_model_instance(data)
        row.session_key = _storage_key(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Delete the session of a key, or this one."""
        key = self.session_key if session_key is None else session_key
        if key is not None:
            super().delete(_storage_key(key))


def _storage_key(key: str | None) -> str:
    """Return the hash that a session is stored under."""
    # 160 of 256 bits, as many as the column has room for in hexadecimal.
    return hashlib.sha256((key or "").encode()).hexdigest()[:40]
