"""The sparring provider: a local API and an authorization server that succeed and fail as asked.

Both journal what came. Aim a configuration at them before you aim it at the real thing:

    python -m outkey.spar
"""

from outkey.spar.exchange import Arrival
from outkey.spar.server import Spar

__all__ = ["Arrival", "Spar"]
