"""The paths of a Login tab, which find the parts of a response."""

from outkey.foundation.ports.expressions import PathCompiler
from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.core.connections.connect_checks import sources_of
from outkey.sending.core.login.responses import Finder, finders_of


def refuse_invalid_expressions(
    paths: PathCompiler, configuration: Configuration
) -> None:
    """Refuse a login, or a source of a variable, that cannot be compiled."""
    if configuration.uses_login:
        login_finders(paths, configuration)
    sources_of(configuration, lambda where, field: paths.compile(where, field=field))


def login_finders(
    paths: PathCompiler, configuration: Configuration
) -> dict[str, Finder]:
    """Return the finders of a login response's parts, or refuse an invalid path."""
    return finders_of(
        configuration.login, lambda where, field: paths.compile(where, field=field)
    )
