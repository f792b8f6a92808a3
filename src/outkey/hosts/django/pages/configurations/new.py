"""Where a new configuration begins: a provider, a pasted command, or a method."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from outkey.administration.core.presets.presets import (
    Preset,
    PresetMethod,
    similar_presets,
)
from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.fields.choices import Grant
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import Text
from outkey.hosts.django.pages.access import installation, may, require
from outkey.hosts.django.pages.configurations.token_panel import redirect_url
from outkey.hosts.django.pages.shell import find_configuration, page
from outkey.hosts.django.translation import translate_text
from outkey.importing.core.report import ReportItem
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.configuration.methods import (
    METHODS,
    AuthenticationMethod,
    InitialValues,
    initial_values_of,
)

# Before the names of variables in a URL, so that they collide with no other name.
VARIABLE_PREFIX = "v-"
NEW_RECORD = "outkey.record"  # the salt of signatures under ids of new configurations


@dataclass(frozen=True, slots=True)
class Beginning:
    """The initial values of a new configuration, and where they come from."""

    initial: InitialValues
    title: str = ""
    preset: Preset | None = None
    preset_method: PresetMethod | None = None
    copied: Configuration | None = None


def new_page(
    request: HttpRequest,
    *,
    import_error: OutkeyError | None = None,
    import_report: Sequence[ReportItem] = (),
) -> HttpResponse:
    """Offer providers, the import and methods; a search works without a script too.

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
        "methods": _offered_methods(request),
        "import_error": import_error,
        "import_name": request.POST.get("import-name", ""),
        "import_report": import_report,
    }
    status = 422 if import_error else 200
    return page(request, "outkey/new.html", context, status=status)


def preset_page(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for the method and the variables of a preset; then the form follows."""
    require(request, Permission.ADD)
    preset = installation().presets.get(name)
    method = preset.method(request.GET.get("method", ""))
    values = _entered_variables(request)
    signed = signed_record(request.GET.get("record", ""))
    problems: dict[str, ConfigError] = {}
    asks_nothing = len(preset.methods) == 1 and not preset.variables_of(method)
    if "continue" in request.GET or asks_nothing:
        problems = preset.problems(method, values)
        if not problems:
            preset.draft(preset.name, method, values)
            url = form_url(preset, method, values, signed)
            return HttpResponseRedirect(url)
    grant = method.table.get("oauth2", {}).get("grant", "")
    context = {
        "title": preset.title,
        "preset": preset,
        "method": method,
        "signed_record": signed,
        "redirect_url": (
            redirect_url(request, record_of(signed))
            if grant == Grant.AUTHORIZATION_CODE
            else ""
        ),
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


def _offered_methods(request: HttpRequest) -> list[AuthenticationMethod]:
    """Return the methods that a user may begin with."""
    may_script = may(request, Permission.EDIT_SCRIPT)
    return [
        method for method in METHODS.values() if may_script or method.name != "script"
    ]


def beginning_of(request: HttpRequest) -> Beginning | None:
    """Return the initial values of a form by its URL; None for an empty form."""
    if "preset" in request.GET:
        preset = installation().presets.get(request.GET["preset"])
        method = preset.method(request.GET.get("method", ""))
        draft = preset.draft(preset.name, method, _entered_variables(request))
        initial = initial_values_of(draft.configuration(), omit_filled=True)
        return Beginning(
            initial, title=preset.title, preset=preset, preset_method=method
        )
    if "copy" in request.GET:
        return copy_of(request)
    if "start" in request.GET:
        names = {method.name: method for method in _offered_methods(request)}
        name = request.GET["start"]
        if name not in names:
            raise ConfigError(
                Text("there is no such method"),
                hint=Text("Choose one on the page New API Sync Configuration."),
                field="start",
            )
        title = translate_text(names[name].title)
        return Beginning(names[name].initial(), title=title)
    return None


def copy_of(request: HttpRequest) -> Beginning:
    """Return a form with the settings of a stored configuration, without secrets."""
    require(request, Permission.VIEW)
    try:
        stored = find_configuration(UUID(request.GET["copy"]))
    except ValueError:
        stored = None
    if stored is None:
        raise ConfigError(
            Text("there is no such configuration"),
            hint=Text("Choose one in the list of configurations."),
            field="copy",
        )
    name = _("%s (copy)") % stored.name
    initial = initial_values_of(stored, name=name)
    return Beginning(initial, title=stored.name, copied=stored)


def signed_record(text: str) -> str:
    """Return a signed id for a new configuration: this one if it is valid, else new.

    The redirect URL contains the id, so that it is known before the first save. The
    signature shows that outkey made it, and not the user for another configuration.
    """
    try:
        signing.loads(text, salt=NEW_RECORD)
    except signing.BadSignature:
        return signing.dumps(uuid4().hex, salt=NEW_RECORD)
    return text


def record_of(signed: str) -> UUID:
    """Return the id of a new configuration; raise ConfigError if it is forged."""
    try:
        return UUID(hex=signing.loads(signed, salt=NEW_RECORD))
    except signing.BadSignature:
        message = Text("the id of this form is not valid")
        raise ConfigError(message, hint=Text("Begin a new form.")) from None


def _entered_variables(request: HttpRequest) -> dict[str, str]:
    """Return the variables in a URL by name."""
    return {
        name.removeprefix(VARIABLE_PREFIX): value
        for name, value in request.GET.dict().items()
        if name.startswith(VARIABLE_PREFIX)
    }


def form_url(
    preset: Preset, method: PresetMethod, values: dict[str, str], signed: str
) -> str:
    """Return the URL of the form that a preset fills in."""
    variables = {f"{VARIABLE_PREFIX}{name}": text for name, text in values.items()}
    choice = {"preset": preset.name, "method": method.name, "record": signed}
    query = urlencode({**choice, **variables})
    return f"{reverse('admin:outkey_configuration_add')}?{query}"
