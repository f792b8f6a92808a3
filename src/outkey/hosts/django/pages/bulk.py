"""Actions on many rows of a list: who may take them, and their results."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _

from outkey.foundation.core.errors import OutkeyError
from outkey.foundation.core.permission import Permission
from outkey.hosts.django.pages.access import may
from outkey.hosts.django.pages.shell import message_of

MOST_SELECTED = 500
SHOWN_FAILURES = 5


@dataclass(frozen=True)
class BulkAction:
    """An action on the selected rows of a list, for those who have a permission."""

    name: str
    label: str
    permission: Permission
    question: str = ""  # asked before; "" if the action changes nothing


def allowed_actions(
    request: HttpRequest, actions: Iterable[BulkAction]
) -> list[BulkAction]:
    """Return the actions that the user may take."""
    return [action for action in actions if may(request, action.permission)]


@dataclass
class BulkResult:
    """The result of an action on many rows."""

    done: list[str] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)


def act_on_each(names: Iterable[str], act: Callable[[str], None]) -> BulkResult:
    """Do something with each row; an error of one does not end the others."""
    result = BulkResult()
    for name in names:
        try:
            act(name)
        except OutkeyError as error:
            result.failures.append((name, message_of(error)))
        else:
            result.done.append(name)
    return result


def report_result(request: HttpRequest, result: BulkResult) -> None:
    """Show how many rows were done, and the first that could not be."""
    if result.done:
        messages.success(request, _("Changed: %s.") % len(result.done))
    for name, message in result.failures[:SHOWN_FAILURES]:
        messages.error(request, f"{name}: {message}")
    more = len(result.failures) - SHOWN_FAILURES
    if more > 0:
        messages.error(request, _("and %s more failed") % more)
