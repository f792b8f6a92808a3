"""The pages of API tokens: list, create and revoke."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from outkey.administration.core.access.api_tokens import (
    DEFAULT_PER_MINUTE,
    ApiToken,
    ApiTokenState,
    Scope,
    read_expiry,
    read_scopes,
)
from outkey.administration.core.access.token_owners import TokenProblem
from outkey.administration.core.access.token_permissions import (
    SCOPE_NEEDS,
    SCOPE_TEXTS,
    token_needs,
)
from outkey.administration.engine.access.api_tokens import CreatedToken, TokenWish
from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.permission import Permission
from outkey.foundation.core.text import Text
from outkey.hosts.django.pages.access import (
    administration_for,
    installation,
    may,
    offered_url,
    require,
)
from outkey.hosts.django.pages.shell import configuration_names, page
from outkey.hosts.django.rows.token_owners import problems_by_token
from outkey.sending.core.audit.actors import actor_words

MARKED = ("name", "scope", "expires", "per_minute")  # inputs that show their errors
STATES = {  # the colour of each, and its name
    ApiTokenState.ACTIVE: ("ok-success", gettext_lazy("active")),
    ApiTokenState.EXPIRED: ("", gettext_lazy("expired")),
    ApiTokenState.REVOKED: ("", gettext_lazy("revoked")),
    ApiTokenState.CHANGED: ("ok-error", gettext_lazy("changed outside of outkey")),
}


@dataclass(frozen=True)
class ListedToken:
    """A token as the list shows it; never its value."""

    token: ApiToken
    state: ApiTokenState
    configurations: Sequence[str] | None  # None: all
    owners: Sequence[str] | None  # None: all
    problem: Text | None = None  # with the user who created it

    @property
    def chip(self) -> tuple[str, object]:
        """The colour and text of its state."""
        return STATES[self.state]

    @property
    def is_active(self) -> bool:
        """Whether it is accepted."""
        return self.state is ApiTokenState.ACTIVE

    @property
    def scopes(self) -> str:
        """Its scopes, in the order of the form."""
        return ", ".join(scope for scope in Scope if scope in self.token.scopes)

    @property
    def creator(self) -> Text:
        """Who has created it."""
        return actor_words(self.token.created_by)


@dataclass(frozen=True)
class OfferedScope:
    """A scope as a check box, and whether the user may grant it."""

    scope: Scope
    text: Text
    is_chosen: bool
    is_allowed: bool


def list_page(request: HttpRequest) -> HttpResponse:
    """List the API tokens."""
    require(request, Permission.VIEW_TOKENS)
    problems = problems_by_token(installation())
    tokens = [
        _listed_token(token, problems.get(token.name))
        for token in installation().api_tokens.all()
    ]
    tokens.sort(key=lambda listed: not listed.is_active)
    context = {
        "title": _("API tokens"),
        "rows": tokens,
        "unreadable": installation().api_tokens.unreadable(),
        "add_url": offered_url(request, Permission.ADD_TOKEN, "apitoken_add"),
        "may_revoke": may(request, Permission.DELETE_TOKEN),
    }
    return page(request, "outkey/api_tokens.html", context)


def add_page(request: HttpRequest) -> HttpResponse:
    """Create a token, and show it this once."""
    require(request, Permission.VIEW_TOKENS, Permission.ADD_TOKEN)
    posted = request.POST
    error = None
    if request.method == "POST":
        try:
            created = create_token(request)
        except ConfigError as problem:
            error = problem
        else:
            return _show_created(request, created)
    chosen = posted.getlist("scope") if posted else [Scope.READ]
    context = {
        "title": _("New API token"),
        "name": posted.get("name", ""),
        "expires": posted.get("expires", ""),
        "scopes": [_offered_scope(request, scope, chosen) for scope in Scope],
        "chosen_configurations": posted.getlist("configuration"),
        "configurations": configuration_names(),
        "owners": _offered_owners(),
        "chosen_owners": posted.getlist("owner"),
        "per_minute": posted.get("per_minute", str(DEFAULT_PER_MINUTE)),
        "allow_internal": "allow_internal" in posted,
        "may_use_internal": may(request, Permission.USE_INTERNAL_NETWORK),
        "error": error,
        "errors": {error.field: error} if error else {},
        "is_marked": error is not None and error.field in MARKED,
    }
    status = 422 if error else 200
    return page(request, "outkey/api_token_add.html", context, status=status)


def _offered_owners() -> list[str]:
    """Return the owners that a token can be limited to."""
    application = installation()
    owners = application.reach.owners
    if owners is None:
        owners = frozenset(each.owner for each in application.registry.summaries())
    return sorted(filter(None, owners))


def create_token(request: HttpRequest) -> CreatedToken:
    """Create the token that was entered; no user grants more than their own rights."""
    posted = request.POST
    wish = TokenWish(
        name=posted.get("name", "").strip(),
        scopes=read_scopes(posted.getlist("scope")),
        configurations=tuple(filter(None, posted.getlist("configuration"))),
        owners=tuple(filter(None, posted.getlist("owner"))),
        expires_at=read_expiry(posted["expires"]) if posted.get("expires") else None,
        allow_internal="allow_internal" in posted,
        per_minute=number_of(posted.get("per_minute", "")),
    )
    require(request, *token_needs(wish.scopes, allow_internal=wish.allow_internal))
    administration = administration_for(request.user)
    return installation().api_tokens.create(administration, wish)


def _show_created(request: HttpRequest, created: CreatedToken) -> HttpResponse:
    """Show a new token: no other page and no log ever has it."""
    context = {
        "title": _("The API token %s was created") % created.token.name,
        "token": created.text,
        "listed": _listed_token(created.token),
        "url": request.build_absolute_uri("/api/v1/configurations"),
    }
    response = page(request, "outkey/api_token_created.html", context)
    response["Cache-Control"] = "no-store"
    return response


def revoke_page(request: HttpRequest) -> HttpResponse:
    """Ask, and revoke a token."""
    require(request, Permission.VIEW_TOKENS, Permission.DELETE_TOKEN)
    name = request.GET.get("name", "")
    tokens = {token.name: token for token in installation().api_tokens.all()}
    if name not in tokens:
        raise Http404
    if request.method == "POST":
        installation().api_tokens.revoke(administration_for(request.user), name)
        messages.success(request, _("The API token %s was revoked.") % name)
        return HttpResponseRedirect(reverse("admin:outkey_apitoken_changelist"))
    context = {"title": _("Revoke %s") % name, "name": name}
    return page(request, "outkey/api_token_revoke.html", context)


def _listed_token(token: ApiToken, problem: TokenProblem | None = None) -> ListedToken:
    """Return a token as the pages show it."""
    application = installation()
    state = token.state(application.database.now())
    return ListedToken(
        token,
        state,
        configurations=application.api_tokens.configurations_of(token),
        owners=None if token.owners is None else sorted(token.owners),
        problem=None if problem is None else problem.message,
    )


def _offered_scope(
    request: HttpRequest, scope: Scope, chosen: Sequence[str]
) -> OfferedScope:
    """Return a scope as the form offers it."""
    is_allowed = all(may(request, needed) for needed in SCOPE_NEEDS[scope])
    return OfferedScope(scope, SCOPE_TEXTS[scope], scope in chosen, is_allowed)


def number_of(text: str) -> int:
    """Return a number that was entered; 0, which is refused, for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
