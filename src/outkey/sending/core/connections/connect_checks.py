"""What a configuration with connections must be, to be saved."""

from operator import attrgetter

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import Connections
from outkey.foundation.core.origin import endpoint_origin
from outkey.foundation.core.placeholders import placeholders_in
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    FILLED_ENDPOINTS,
    Configuration,
)
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.connections.sources import (
    Compiler,
    VariableSource,
    parse_source,
    source_field,
)
from outkey.sending.core.connections.url_templates import (
    changes_origin,
    check_url_template,
)
from outkey.sending.core.connections.variables import (
    check_path_template,
    refuse_undeclared,
)

VARIABLES = "connect.variables"
ALLOWED = "allowed_origins"
ACCOUNT = "connect.account"
REQUEST_URL = "connect.request_url"
MAX_ALLOWED = 500  # characters of all patterns: secrets are bound to them
_URLS = ("base_url", *FILLED_ENDPOINTS)


def sources_of(
    configuration: Configuration, paths: Compiler | None = None
) -> list[VariableSource]:
    """Return the sources of the variables, or refuse one that cannot be read."""
    return [
        parse_source(name, text, source_field(name), paths)
        for name, text in configuration.connect.variables.items()
    ]


def refuse_unusable_connections(configuration: Configuration) -> None:
    """Refuse settings of connections that no account could be used with."""
    if configuration.connections is Connections.NONE:
        if configuration.connect.variables:
            raise BY_PATH[VARIABLES].refuse(
                Text("must be empty without connections"),
                hint=Text("Set Connections (connections) to optional or required."),
            )
        return
    sources_of(configuration)
    _refuse_undeclared_names(configuration)
    _refuse_unbounded_origins(configuration)
    _refuse_foreign_request(configuration)
    account = configuration.connect.account
    if account and account not in configuration.connect.variables:
        raise BY_PATH[ACCOUNT].refuse(Text("must be one of the variables"))


def _refuse_undeclared_names(configuration: Configuration) -> None:
    declared = configuration.connect.variables
    for path in _URLS:
        check_url_template(attrgetter(path)(configuration), declared, path)
    test_path = configuration.verification.test_path
    check_path_template(test_path, declared, "verification.test_path")
    login_path = configuration.login.path
    others = {
        name for name in placeholders_in(login_path) if name not in declared
    }  # what a login fills in itself
    check_path_template(login_path, declared, "login.path", others=others)
    for row in configuration.api_rows:
        if not row.secret:
            refuse_undeclared(row.value, declared, row.secret_field)


def _refuse_unbounded_origins(configuration: Configuration) -> None:
    patterns = configuration.allowed_patterns
    if sum(len(str(pattern)) + 1 for pattern in patterns) > MAX_ALLOWED:
        raise BY_PATH[ALLOWED].refuse(
            Text("is longer than {limit} characters", limit=MAX_ALLOWED)
        )
    changing = [
        path for path in _URLS if changes_origin(attrgetter(path)(configuration))
    ]
    if changing and not patterns:
        raise ConfigError(
            Text("a variable may lead anywhere: no origins are allowed"),
            hint=Text(
                "Name them under Allowed origins (allowed_origins), such as"
                " https://*.books.example."
            ),
            field=ALLOWED,
        )


def _refuse_foreign_request(configuration: Configuration) -> None:
    """Refuse a request after connecting to where the credentials do not belong."""
    url = configuration.connect.request_url
    if not url:
        return
    origin = endpoint_origin(url, REQUEST_URL)
    is_own = origin == configuration.base.origin
    patterns = configuration.allowed_patterns
    if not is_own and not any(pattern.matches(origin) for pattern in patterns):
        raise BY_PATH[REQUEST_URL].refuse(
            Text("must be at the Base URL's origin, or at an allowed one")
        )
