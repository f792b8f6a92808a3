"""The common form of all formats: requests, and how they authenticate.

The texts of credentials are plain here; `drafting.py` turns them into secrets. None of
these objects shows its content.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, repr=False)
class PasswordAuth:
    """User name and password, for Basic or Digest."""

    username: str
    password: str | None  # None: it is asked for
    is_digest: bool = False


@dataclass(frozen=True, slots=True, repr=False)
class TokenAuth:
    """A token in a header; the default prefix is Bearer.

    With a user name, both are sent as one value in Base64.
    """

    token: str
    prefix: str | None = None
    header: str = "Authorization"
    username: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class KeyAuth:
    """A key in a header, a query parameter or a cookie."""

    name: str
    value: str
    place: str = "header"  # or query, cookie
    around: str = ""  # fixed text with {secret} where the key goes


@dataclass(frozen=True, slots=True, repr=False)
class OAuth2Auth:
    """OAuth 2.0: settings by the names of the tab, and the secrets."""

    settings: Mapping[str, object]
    client_secret: str | None = None  # None: there is none
    refresh_token: str | None = None
    prefix: str | None = None
    header: str = "Authorization"


@dataclass(frozen=True, slots=True, repr=False)
class OAuth1Auth:
    """OAuth 1.0a: settings by the names of the tab, and secrets by their names."""

    settings: Mapping[str, str]
    secrets: Mapping[str, str]  # empty: to be entered


@dataclass(frozen=True, slots=True, repr=False)
class LoginAuth:
    """A login at the API: settings by the names of the tab, and the secrets."""

    url: str
    settings: Mapping[str, object]
    username: str
    password: str
    secret_key: str | None = None
    header: str = ""  # where requests carry the token, if not in Authorization


@dataclass(frozen=True, slots=True, repr=False)
class AwsAuth:
    """The keys of AWS Signature Version 4, and what it signs for."""

    access_key: str
    secret_key: str
    region: str = ""
    service: str = ""
    session_token: str = ""


Auth = (
    PasswordAuth | TokenAuth | KeyAuth | OAuth2Auth | OAuth1Auth | LoginAuth | AwsAuth
)


@dataclass(slots=True, repr=False)
class SeenRequest:
    """One request as the input describes it."""

    url: str
    method: str = "GET"
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: str = ""
    has_body: bool = False
    auth: tuple[Auth, ...] = ()
    name: str = ""
    # What the input describes as the table of a line, without a target. Its `for_each`
    # has the `place` of another request as its line.
    sync: Mapping[str, object] | None = None
    place: str = ""
    pagination: Mapping[str, object] = field(default_factory=dict)

    def header(self, name: str) -> str:
        """Return the value of a header, "" without one."""
        lower = name.lower()
        return next((v for key, v in self.headers if key.lower() == lower), "")


@dataclass(slots=True, repr=False)
class SeenApi:
    """One API as the input describes it: its requests and what they share.

    Without a Base URL it is found from the URLs of the requests. `values` are fields of
    a configuration by their paths, `secrets` those of its secrets by their names, and
    `files` the paths of files that hold secrets, which are not read here.
    """

    requests: list[SeenRequest]
    auth: tuple[Auth, ...] = ()
    name: str = ""
    base_url: str = ""
    test_path: str = ""
    values: dict[str, object] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # of secrets, by their names
