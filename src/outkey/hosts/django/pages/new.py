"""Where a new configuration begins: an import, a preset, or an empty form."""

from collections.abc import Sequence
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from outkey.core.access.permissions import Permission
from outkey.core.config.configuration import Configuration
from outkey.core.config.presets import Preset, PresetMethod, similar_presets
from outkey.core.errors import ConfigError, OutkeyError
from outkey.core.importing.report import ReportItem
from outkey.hosts.django.pages.access import installation, require
from outkey.hosts.django.pages.shell import page

# Before the names of variables in a URL, so that they collide with no other name.
VARIABLE_PREFIX = "v-"


def new_page(
    request: HttpRequest,
    *,
    import_error: OutkeyError | None = None,
    import_report: Sequence[ReportItem] = (),
) -> HttpResponse:
    """Offer the import and the presets; a search works without a script too.

    `import_error` is why a pasted text was not imported, and `import_report` what was
    found in it.
    """
    require(request, Permission.ADD)
    search_text = request.GET.get("q", "").strip()
    every = installation().presets.all()
    presets = [preset for preset in every if preset.matches(search_text)]
    context = {
        "title": _("New API Sync Configuration"),
        "presets": presets,
        "near": [] if presets else similar_presets(every, search_text),
        "search_text": search_text,
        "import_error": import_error,
        "import_report": import_report,
    }
    status = 422 if import_error else 200
    return page(request, "outkey/new.html", context, status=status)


def preset_page(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for the method and the variables of a preset; then the form follows."""
    require(request, Permission.ADD)
    preset = installation().presets.get(name)
    method = preset.method(request.GET.get("method", ""))
    values = entered_variables(request)
    problems: dict[str, ConfigError] = {}
    if "continue" in request.GET:
        problems = preset.problems(method, values)
        if not problems:
            preset.draft(preset.name, method, values)
            return HttpResponseRedirect(form_url(preset, method, values))
    context = {
        "title": preset.title,
        "preset": preset,
        "method": method,
        "variables": [
            (
                variable,
                values.get(variable.name, variable.default or ""),
                problems.get(variable.name),
            )
            for variable in preset.variables_of(method)
        ],
    }
    status = 422 if problems else 200
    return page(request, "outkey/preset.html", context, status=status)


def preset_draft(
    request: HttpRequest,
) -> tuple[Preset, PresetMethod, Configuration] | None:
    """Return the configuration that the URL of a new form describes, if it does."""
    if "preset" not in request.GET:
        return None
    preset = installation().presets.get(request.GET["preset"])
    method = preset.method(request.GET.get("method", ""))
    draft = preset.draft(preset.name, method, entered_variables(request))
    return preset, method, draft.configuration()


def entered_variables(request: HttpRequest) -> dict[str, str]:
    """Return the variables in a URL by name."""
    return {
        name.removeprefix(VARIABLE_PREFIX): value
        for name, value in request.GET.dict().items()
        if name.startswith(VARIABLE_PREFIX)
    }


def form_url(preset: Preset, method: PresetMethod, values: dict[str, str]) -> str:
    """Return the URL of the form that a preset fills in."""
    variables = {f"{VARIABLE_PREFIX}{name}": text for name, text in values.items()}
    query = urlencode({"preset": preset.name, "method": method.name, **variables})
    return f"{reverse('admin:outkey_configuration_add')}?{query}"
