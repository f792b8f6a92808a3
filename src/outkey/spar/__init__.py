"""The sparring provider: a local API and authorization server that fail on request.

Both journal what arrives. Try a configuration on them before the real API:

    python -m outkey.spar
"""

from outkey.spar.exchange import Arrival
from outkey.spar.server import Spar

__all__ = ["Arrival", "Spar"]
