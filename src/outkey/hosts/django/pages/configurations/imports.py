"""The box on the page New that takes a curl command, a collection or a description.

What is pasted is read, saved and discarded within one request: the session has only the
report, which holds names and sentences of our own.
"""

from django.contrib import messages
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
)
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from outkey.foundation.core.errors import HostError, OutkeyError
from outkey.foundation.core.permission import Permission
from outkey.hosts.django.pages.access import (
    administration_for,
    editor_for,
    installation,
    require,
)
from outkey.hosts.django.pages.configurations.import_reports import store_report
from outkey.hosts.django.pages.configurations.new import new_page
from outkey.hosts.django.pages.shell import (
    UNTIL_TESTED,
    limited_concurrency,
    next_step,
    url_of,
)
from outkey.importing.core.report import ReportItem


@require_POST
@sensitive_post_parameters()
def import_page(request: HttpRequest) -> HttpResponse:
    """Make configurations of what was pasted, and show the first with the report."""
    # The readers of all formats are loaded for the first import.
    from outkey.administration.engine.editing.importing import taken_names
    from outkey.hosts.importing import read_import

    require(request, Permission.ADD)
    application = installation()
    report: tuple[ReportItem, ...] = ()
    try:
        imported = read_import(
            *request.POST.getlist("text"),
            name=request.POST.get("import-name", "").strip(),
            taken=taken_names(application.registry),
        )
        report = imported.report
        names = application.save_import(
            administration_for(request.user),
            imported,
            allowed=editor_for(request).allowed,
            limit=limited_concurrency,
        )
    except HostError:
        raise
    except OutkeyError as error:
        if _wants_json(request):
            context = {"import_error": error, "import_report": report}
            return render(request, "outkey/import_error.html", context, status=422)
        return new_page(request, import_error=error, import_report=report)
    first = application.registry.get(names[0])
    store_report(request, first.record, imported)
    done = _("%s was imported.") % names[0]
    if len(names) > 1:
        done = _("%(count)d configurations were imported: %(names)s.") % {
            "count": len(names),
            "names": ", ".join(names),
        }
    messages.success(request, f"{done} {next_step(first)}", extra_tags=UNTIL_TESTED)
    url = url_of("change", first)
    if _wants_json(request):
        return JsonResponse({"url": url})
    return HttpResponseRedirect(url)


def _wants_json(request: HttpRequest) -> bool:
    """Whether the page's script has posted the box.

    Then the page stays as it is after an error, with the text that only the browser
    has: the response never repeats it.
    """
    return request.headers.get("Accept") == "application/json"
