"""qBittorrent from Debian, unpacked by tools/peers.sh: a session in a cookie.

A refused login is a success without a cookie there, and nothing exists without one:
each path, also a wrong one, responds 403. A request that seems to come from another
site is refused before its credentials are read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peers.servers import listening
from peers.unpacked import require_unpacked

USER = "admin"
PASSWORD = "adminadmin"  # of every new profile, up to 4.6
_SETTINGS = """
[LegalNotice]
Accepted=true
[BitTorrent]
Session\\DHTEnabled=false
Session\\Interface=lo
Session\\InterfaceAddress=127.0.0.1
Session\\InterfaceName=lo
Session\\LSDEnabled=false
Session\\PeXEnabled=false
[Preferences]
Connection\\ResolvePeerCountries=false
Connection\\UPnP=false
WebUI\\Address=127.0.0.1
WebUI\\MaxAuthenticationFailCount={failures}
WebUI\\Port={port}
WebUI\\UseUPnP=false
"""


@contextmanager
def qbittorrent_running(folder: Path, *, failures: int = 1000) -> Iterator[str]:
    """Run qBittorrent, which bans an address after so many failures; give its URL."""
    start, _ = require_unpacked("qbittorrent-nox")
    settings = folder / "qBittorrent" / "config" / "qBittorrent.conf"
    settings.parent.mkdir(parents=True)

    def command(port: int) -> list[str]:
        settings.write_text(_SETTINGS.format(failures=failures, port=port))
        return [*start, f"--profile={folder}"]

    with listening(folder, "qbittorrent-nox", command) as port:
        yield f"http://127.0.0.1:{port}"
