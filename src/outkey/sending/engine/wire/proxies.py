"""Which proxy a request goes through, and whether it may."""

from collections.abc import Callable
from dataclasses import dataclass

from outkey.foundation.core.errors import EgressDenied, secret_missing
from outkey.foundation.core.fields.choices import Network
from outkey.foundation.core.origin import Origin, endpoint_origin
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.sending.core.configuration.configuration import (
    PROXY_PASSWORD,
    Configuration,
)
from outkey.sending.core.request.addresses import is_allowed, is_internal, judge
from outkey.sending.core.request.message import Proxy
from outkey.sending.core.request.proxy import ProxyPolicy, credentials_at
from outkey.sending.ports.sending import ProxySource

_FIELD = "proxy.url"
_LIST_HINT = Text(
    "Have the operator add it to allowed in the section proxy of config/policy.toml."
)
_INTERNAL_HINT = Text(
    "Have the operator add it to allowed in the section proxy of config/policy.toml,"
    " or set Network to Internal trusted network (internal)."
)
_NEVER_HINT = Text("Such IP addresses are never allowed; check the URL of the proxy.")


class NoProxySource:
    """An installation without a policy about proxies."""

    _POLICY = ProxyPolicy()

    def policy(self) -> ProxyPolicy:
        """Return a policy without a proxy and without a list."""
        return self._POLICY

    def password(self) -> Secret:
        """Refuse: the policy names no user."""
        raise secret_missing("proxy.password")


NO_PROXIES = NoProxySource()


@dataclass(frozen=True, slots=True)
class Proxies:
    """The proxies of configurations, and the one of the installation."""

    source: ProxySource

    def shown_for(self, configuration: Configuration) -> tuple[str, str]:
        """Return the URL of the proxy in use and the user there, both may be empty."""
        return shown_proxy(configuration, self.source.policy)

    def find(
        self,
        configuration: Configuration,
        open_secret: Callable[[Configuration, str], Secret],
    ) -> Proxy | None:
        """Return the proxy with its credentials, None without one."""
        settings = configuration.proxy
        if settings.url:
            proxy = Proxy(endpoint_origin(settings.url, _FIELD))
            if not settings.username:
                return proxy
            password = open_secret(configuration, PROXY_PASSWORD)
            return with_credentials(proxy, settings.username, password)
        policy = self.source.policy()
        if not policy.url:
            return None
        proxy = Proxy(endpoint_origin(policy.url, _FIELD))
        if not policy.username:
            return proxy
        return with_credentials(proxy, policy.username, self.source.password())

    def vet(
        self, network: Network, proxy: Origin, addresses: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return the addresses of a proxy if every one is allowed, else refuse."""
        allowed = self.source.policy().allowed
        if allowed is not None:
            if (proxy.host, proxy.port) not in allowed:
                raise EgressDenied(
                    Text(
                        "the proxy {proxy} is not one that the operator allows",
                        proxy=proxy,
                    ),
                    hint=_LIST_HINT,
                    field=_FIELD,
                )
            network = Network.INTERNAL  # the operator knows where it is
        for address in addresses:
            kind = judge(address)
            if not is_allowed(kind, network):
                raise EgressDenied(
                    Text(
                        "the proxy {proxy} resolves to {kind}",
                        proxy=proxy,
                        kind=kind.label,
                    ),
                    hint=_INTERNAL_HINT if is_internal(kind) else _NEVER_HINT,
                    field=_FIELD,
                )
        return addresses


def with_credentials(proxy: Proxy, username: str, password: Secret) -> Proxy:
    """Return a proxy with the credentials that it asks for."""
    return proxy._replace(credentials=credentials_at(username, password))


def shown_proxy(
    configuration: Configuration, policy: Callable[[], ProxyPolicy]
) -> tuple[str, str]:
    """Return the URL of the proxy in use and the user there, both may be empty."""
    settings = configuration.proxy
    used = settings if settings.url else policy()
    if not used.url:
        return "", ""
    return str(endpoint_origin(used.url, _FIELD)), used.username
