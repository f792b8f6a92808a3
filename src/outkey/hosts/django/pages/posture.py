"""The posture on the home page, by columns alone, and the page on data protection."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from uuid import UUID

from django.conf import settings
from django.db.models import Min
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from outkey.core.errors import ConfigError
from outkey.core.findings.checks import Level
from outkey.core.findings.health import Health
from outkey.core.findings.posture import CHECKS, Check, ConfigurationFacts, Policy
from outkey.core.vault import voucher
from outkey.core.vault.versions import SecretLabel
from outkey.hosts.django.models import AuditRecord, Configuration, SecretValue
from outkey.hosts.django.pages.access import installation, require
from outkey.hosts.django.pages.configurations import page

_NAMED = 5
_DAY = 86_400


@dataclass
class Weakness:
    """One thing that is wrong with some configurations."""

    level: Level
    message: str
    hint: str
    count: int = 0
    rows: list[Configuration] = field(default_factory=list)

    @property
    def more(self) -> int:
        """How many are not named."""
        return self.count - len(self.rows)


class Panel:
    """Counts what the columns of configurations show; `outkey doctor` sees more."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._found: dict[tuple[Level, str], Weakness] = {}
        self.problem: ConfigError | None = None
        self._policy = Policy()
        try:
            self._policy = installation().policy()
        except ConfigError as error:
            self.problem = error
        self._old = self._old_secrets()

    def look(self, row: Configuration, standing: Health) -> None:
        """Take one configuration into account."""
        subject = ConfigurationFacts(
            base_url=row.base_url,
            authentication_type=row.authentication_type,
            environment=row.environment,
            active=row.active,
            stores_secret=row.stores_secret,
            set_at=self._old.get(row.pk, {}),
            now=self._now,
            policy=self._policy,
            standing=standing,
        )
        blocking = self._policy.blocking.get(row.environment, ())
        for check in CHECKS:
            for _place in check.find(subject):
                self._note(
                    row, check, Level.ERROR if check.id in blocking else check.level
                )
                break  # one is as bad as two

    @property
    def weaknesses(self) -> list[Weakness]:
        """What was found, the worst first, and then what concerns the most."""
        levels = list(Level)
        found = self._found.values()
        return sorted(found, key=lambda weak: (levels.index(weak.level), -weak.count))

    @property
    def counts(self) -> list[tuple[Level, int]]:
        """How many findings there are of each level."""
        counts: Counter[Level] = Counter()
        for weakness in self._found.values():
            counts[weakness.level] += weakness.count
        return [(level, counts[level]) for level in Level if counts[level]]

    def _note(
        self, row: Configuration, check: Check[ConfigurationFacts], level: Level
    ) -> None:
        fresh = Weakness(level, check.message, check.hint)
        known = self._found.setdefault((level, check.id), fresh)
        known.count += 1
        if known.count <= _NAMED:
            known.rows.append(row)

    def _old_secrets(self) -> dict[UUID, dict[str, float]]:
        limit = self._now - self._policy.secret_days * _DAY
        found: defaultdict[UUID, dict[str, float]] = defaultdict(dict)
        old = SecretValue.objects.filter(label=SecretLabel.CURRENT, set_at__lt=limit)
        old = old.exclude(field=voucher.FIELD)
        for owner, name, moment in old.values_list(
            "configuration_id", "field", "set_at"
        ):
            found[owner][name] = moment or 0
        return found


def data_protection_page(request: HttpRequest) -> HttpResponse:
    """Say what is kept about people, where, for how long, and how it is handed out and erased."""
    require(request, "view_auditrecord")
    oldest = AuditRecord.objects.aggregate(Min("at"))["at__min"]
    context = {
        "title": _("Data protection"),
        "days": installation().policy().retention_days,
        "hours": settings.SESSION_COOKIE_AGE // 3600,
        "oldest": None if oldest is None else oldest / 1000,
        "records": AuditRecord.objects.count(),
    }
    return page(request, "outkey/data_protection.html", context)
