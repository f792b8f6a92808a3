"""Who may change which user or group: no user grants rights beyond their own."""

from dataclasses import dataclass

SUPERUSER = "superuser"
STAFF = "staff"


@dataclass(frozen=True, slots=True)
class AccountRights:
    """The rights of a user or a group: two flags and the names of permissions."""

    superuser: bool = False
    staff: bool = False
    permissions: frozenset[str] = frozenset()

    def covers(self, other: "AccountRights") -> bool:
        """Whether these rights include all of the other ones."""
        return not self.lacks(other)

    def lacks(self, other: "AccountRights") -> frozenset[str]:
        """Return the names of the other rights that are not included in these."""
        if self.superuser:
            return frozenset()
        missing = set(other.permissions - self.permissions)
        if other.superuser:
            missing.add(SUPERUSER)
        if other.staff and not self.staff:
            missing.add(STAFF)
        return frozenset(missing)
