"""A cache of the scripts that were compared with their vouchers."""

from outkey.sending.core.configuration.configuration import Configuration
from outkey.sending.ports.sending import Secrets

_MOST = 1024


class VouchedScripts:
    """The configurations whose script is the one that was saved; one for each name.

    The object of a configuration and the voucher in it never change, so one comparison
    is enough. After a change it is another object, which is compared again.
    """

    def __init__(self) -> None:
        self._compared: dict[str, tuple[Secrets, Configuration]] = {}

    def has(self, secrets: Secrets, configuration: Configuration) -> bool:
        """Whether these secrets have vouched for the script of this very object."""
        compared = self._compared.get(configuration.name)
        return (
            compared is not None
            and compared[1] is configuration
            and compared[0] is secrets
        )

    def add(self, secrets: Secrets, configuration: Configuration) -> None:
        """Remember that these secrets vouch for the script of this object."""
        if len(self._compared) >= _MOST:
            self._compared.clear()
        self._compared[configuration.name] = secrets, configuration
