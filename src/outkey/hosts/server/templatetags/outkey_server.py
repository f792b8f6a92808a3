"""Tags of the frame of the pages: the menu and its icons."""

from django import template
from django.http import HttpRequest
from django.template.context import Context
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

from outkey.hosts.server.web.navigation import menu_of

register = template.Library()


@register.simple_tag
def icon(name: str) -> SafeString:
    """Return an icon, which is hidden from screen readers."""
    return format_html(
        '<svg class="ok-icon" aria-hidden="true" focusable="false">'
        '<use href="{}#{}"></use></svg>',
        static("outkey_server/icons.svg"),
        name,
    )


@register.inclusion_tag("outkey_server/navigation.html", takes_context=True)
def navigation(context: Context) -> dict[str, object]:
    """Return the menu of the user, with the current page marked."""
    request: HttpRequest = context["request"]
    return {"groups": menu_of(request)}
