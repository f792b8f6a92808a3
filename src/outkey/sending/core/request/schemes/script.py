"""Dynamic authentication: a script signs requests besides the authentication type."""

from typing import NamedTuple

from outkey.foundation.core.errors import ConfigError, OutkeyError
from outkey.foundation.core.fields.choices import AuthenticationType
from outkey.foundation.core.text import Text
from outkey.sending.core.request.flow import AuthFlow, RunScript, Scheme, Send
from outkey.sending.core.request.message import Request
from outkey.sending.core.request.schemes.digest import Digest
from outkey.sending.core.request.schemes.oauth1 import OAuth1
from outkey.sending.core.request.script import ScriptParts, with_parts

# Their proof is computed before the script runs, and covers the query.
_COVERING_QUERY: dict[type, AuthenticationType] = {
    Digest: AuthenticationType.DIGEST,
    OAuth1: AuthenticationType.OAUTH1,
}


class Scripted(NamedTuple):
    """Add what a script returns to whatever another scheme sends."""

    inner: Scheme

    def flow(self, request: Request) -> AuthFlow:
        """Run the script for each request sent, so that its timestamp is current."""
        inner = self.inner.flow(request)
        try:
            step = next(inner)
            while True:
                try:
                    if isinstance(step, Send):
                        request = step.request
                        parts = yield RunScript(request)
                        self._refuse_unsigned(parts)
                        step = step._replace(request=with_parts(request, parts))
                    result = yield step
                except OutkeyError as error:
                    step = inner.throw(error)
                else:
                    step = inner.send(result)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]  # a Response, as the inner flow promises
        finally:
            inner.close()

    def _refuse_unsigned(self, parts: ScriptParts) -> None:
        """Refuse parameters beside a scheme whose proof covers the query."""
        kind = _COVERING_QUERY.get(type(self.inner))
        if kind is None or not parts.parameters:
            return
        raise ConfigError(
            Text(
                "the script returned query parameters, which the Authentication"
                " Type {type} cannot cover",
                type=kind.label,
            ),
            field="script",
            hint=Text("Return headers only, or choose another Authentication Type."),
        )
