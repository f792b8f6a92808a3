"""The page on data protection."""

from django.conf import settings
from django.db.models import Min
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from outkey.foundation.core.permission import Permission
from outkey.hosts.django.models import AuditRecord
from outkey.hosts.django.pages.access import installation, require
from outkey.hosts.django.pages.shell import page


def data_protection_page(request: HttpRequest) -> HttpResponse:
    """Show which personal data is stored, for how long, and how it is erased."""
    require(request, Permission.VIEW_AUDIT)
    oldest = AuditRecord.objects.aggregate(Min("at"))["at__min"]
    context = {
        "title": _("Data protection"),
        "days": installation().policy().retention_days,
        "hours": settings.SESSION_COOKIE_AGE // 3600,
        "oldest": None if oldest is None else oldest / 1000,
        "records": AuditRecord.objects.count(),
    }
    return page(request, "outkey/data_protection.html", context)
