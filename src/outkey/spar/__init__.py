"""The sparring provider: a local API that plays every success and failure, and journals what came.

Aim a configuration at it before you aim it at the real thing:

    python -m outkey.spar
"""

from outkey.spar.server import Arrival, Spar

__all__ = ["Arrival", "Spar"]
