"""The notices that are open, for whatever page wants to show them."""

from django import template

from outkey.hosts.django.watchbook import DjangoWatchbook

_MOST = 20
register = template.Library()


@register.inclusion_tag("outkey/notices.html")
def open_notices() -> dict[str, object]:
    """Show what is wrong or odd by what the watch has seen, the newest first."""
    notices = DjangoWatchbook().open_notices()[::-1]
    shown = [notice.facts() for notice in notices[:_MOST]]
    return {"notices": shown, "more": max(0, len(notices) - _MOST)}
