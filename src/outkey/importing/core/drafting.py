"""Making a configuration of requests and credentials that some format described.

Every rule about what a field takes is here, so that all formats follow the same ones.
"""

import re
from dataclasses import dataclass, field
from typing import assert_never

from outkey.foundation.core.errors import ConfigError
from outkey.foundation.core.fields.choices import AwsPayload, SignatureMethod
from outkey.foundation.core.findings.checks import Level
from outkey.foundation.core.secret import Secret
from outkey.foundation.core.text import Text
from outkey.importing.core.report import ImportedConfiguration, ImportReport, shown_name
from outkey.importing.core.seen import (
    Auth,
    AwsAuth,
    KeyAuth,
    LoginAuth,
    OAuth1Auth,
    OAuth2Auth,
    PasswordAuth,
    TokenAuth,
)
from outkey.importing.core.urls import (
    is_internal_host,
    is_secret_header,
    secure_origin,
    split_url,
    without_credentials,
)
from outkey.sending.core.aws.signing import UNSIGNED_PAYLOAD
from outkey.sending.core.configuration.custom_rows import (
    MAX_ROWS,
    CustomHeader,
    QueryParameter,
    header_row,
    query_row,
)
from outkey.sending.core.configuration.drafts import ConfigurationDraft
from outkey.sending.core.configuration.fields import BY_PATH
from outkey.sending.core.configuration.placeholders import is_placeholder
from outkey.sending.core.configuration.reference import OWN_PREFIX, Reference, Store
from outkey.sending.core.configuration.secret_values import refuse_unusable
from outkey.sending.core.request.headers import check_value, tidy_value

TO_ENTER = Text("it is a placeholder: enter the value")
FOUND = Text("it is a secret")
# Headers that are made for each signed request.
MADE_FOR_AWS = frozenset({"x-amz-date", "x-amz-security-token", "x-amz-content-sha256"})
_SAMPLE_KEY_ID = re.compile(r"A[KS]IA[A-Z0-9]{0,20}EXAMPLE")
# The three legs of OAuth 1.0a need all of them.
_OAUTH1_URLS = ("request_url", "authorization_url", "access_url")
# What APIs write in the place of a password where the key is the user name.
NO_PASSWORDS = frozenset({"", "x", "X", "api_token"})


@dataclass(slots=True, repr=False)
class Drafter:
    """Collects the parts of one configuration."""

    report: ImportReport
    values: dict[str, object] = field(default_factory=dict)
    headers: list[CustomHeader] = field(default_factory=list)
    query: list[QueryParameter] = field(default_factory=list)
    secrets: dict[str, Secret] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    files: dict[str, Reference] = field(default_factory=dict)

    # ── credentials ─────────────────────────────────────────────────────────────────

    def add_auth(self, auth: Auth) -> None:
        """Set the fields of one way to authenticate."""
        match auth:
            case PasswordAuth():
                self._add_password(auth)
            case TokenAuth():
                self._set_type("bearer", token_source="entered")  # noqa: S106
                self._set_place(auth.header, auth.prefix)
                if auth.username:
                    self._set_encoded_pair(auth.username)
                self.add_secret("token", auth.token, auth.header)
            case KeyAuth():
                self._add_key(auth)
            case OAuth2Auth():
                self._add_oauth2(auth)
            case OAuth1Auth():
                self._add_oauth1(auth)
            case LoginAuth():
                self._add_login(auth)
            case AwsAuth():
                self._add_aws(auth)
            case other:
                assert_never(other)

    def add_secret(self, name: str, text: str, item: str) -> None:
        """Take a secret, or leave it to be entered where there is a placeholder."""
        if is_placeholder(text):
            self.missing.append(name)
            self.report.note_dropped(item, TO_ENTER)
            return
        secret = Secret(text)
        try:
            refuse_unusable(name, secret)
        except ConfigError as error:
            self.missing.append(name)
            why = Text("{problem}: enter the value", problem=error.message)
            self.report.note_dropped(item, why)
            return
        self.secrets[name] = secret
        self.report.note_taken(item, FOUND)

    def add_file(self, name: str, path: str) -> None:
        """Refer to a file that holds a secret; the secret itself is to be entered."""
        self.missing.append(name)
        if path.startswith("/"):
            self.files[name] = Reference(Store.FILE, path)
        self.report.note_changed(
            name.replace("_", " "),
            Text("files are not read here: refer to the file, or enter the value"),
        )

    def _set_type(self, kind: str, **more: object) -> None:
        self.values["authentication_type"] = kind
        self.values |= more

    def _set_place(self, header: str, prefix: str | None) -> None:
        if header != "Authorization":
            self.values["token_header"] = header
        if prefix is not None and prefix.lower() != "bearer":
            self.values["token_prefix"] = prefix

    def _set_encoded_pair(self, username: str) -> None:
        self.values["username"] = username
        self.values["token_value"] = "{username}:{token}"  # noqa: S105 - no token
        self.values["token_encoding"] = "base64"  # noqa: S105 - a choice
        self.report.note_changed(
            "token",
            Text("it is Base64 of a user name and a token, which are apart here"),
            Level.NOTICE,
        )

    def _set_username(self, username: str) -> None:
        if is_placeholder(username):
            if username:
                self.report.note_dropped("username", TO_ENTER)
            return
        self.values["username"] = username

    def _add_password(self, auth: PasswordAuth) -> None:
        self._set_type("digest" if auth.is_digest else "basic")
        if auth.username and not auth.is_digest and auth.password in NO_PASSWORDS:
            self.values["key_as_username"] = True
            why = Text("there is no password, so the user name is the secret")
            if auth.password:
                self.values["username"] = auth.password
                why = Text("nobody has this password, so the user name is the secret")
            self.report.note_changed("user name", why, Level.NOTICE)
            self.add_secret("password", auth.username, "Basic")
            return
        self._set_username(auth.username)
        self.add_secret("password", auth.password or "", "password")

    def _add_key(self, auth: KeyAuth) -> None:
        if auth.place == "query":
            self.add_parameter(auth.name, auth.value)
        elif auth.place == "cookie":
            self._set_type("bearer", token_source="entered")  # noqa: S106
            self.values["token_header"] = f"cookie:{auth.name}"
            self.add_secret("token", auth.value, shown_name("cookie", auth.name))
        else:
            self.add_header(auth.name, auth.value, is_secret=True, around=auth.around)

    def _add_oauth2(self, auth: OAuth2Auth) -> None:
        self._set_type("bearer", token_source="oauth2")  # noqa: S106
        self._set_place(auth.header, auth.prefix)
        settings = {key: value for key, value in auth.settings.items() if value}
        for key in ("token_url", "client_id"):
            if not settings.get(key):
                settings[key] = _to_replace(key)
                label = BY_PATH[f"oauth2.{key}"].label
                self.report.note_dropped(key, Text("enter {label}", label=label))
        for key, value in settings.items():
            self.values[f"oauth2.{key}"] = value
        self._secure_endpoints()
        if auth.client_secret is not None:
            self.add_secret("client_secret", auth.client_secret, "client secret")
        if auth.refresh_token is not None:
            self.add_secret("refresh_token", auth.refresh_token, "refresh token")

    def _secure_endpoints(self) -> None:
        for path, value in self.values.items():
            if not path.startswith("oauth2.") or not path.endswith("_url"):
                continue
            url = split_url(str(value))
            origin, is_changed = secure_origin(url.origin)
            if is_changed:
                self._note_https(path)
            query = without_credentials(url.query)
            if len(query) < len(url.query):
                self.report.note_dropped(
                    path, Text("a token request takes no other secrets than its own")
                )
            mark = "?" if query else ""
            self.values[path] = f"{origin}{url.path}{mark}{query}"

    def _add_oauth1(self, auth: OAuth1Auth) -> None:
        self._set_type("oauth1")
        settings = {
            key: value
            for key, value in auth.settings.items()
            if value and not is_placeholder(value)
        }
        method = settings.pop("signature_method", "")
        if method in list(SignatureMethod):
            settings["signature_method"] = method
        elif method:
            self.report.note_dropped(
                shown_name("signature method", method),
                Text("outkey does not have it: HMAC-SHA1 is set"),
            )
        if any(not settings.get(key) for key in _OAUTH1_URLS):
            settings = {
                key: value for key, value in settings.items() if key not in _OAUTH1_URLS
            }
        if not settings.get("consumer_key"):
            settings["consumer_key"] = _to_replace("consumer_key")
            label = BY_PATH["oauth1.consumer_key"].label
            self.report.note_dropped("consumer key", Text("enter {label}", label=label))
        self.values |= {f"oauth1.{key}": value for key, value in settings.items()}
        for name, value in auth.secrets.items():
            self.add_secret(name, value, name.replace("_", " "))

    def _add_login(self, auth: LoginAuth) -> None:
        self._set_type("bearer", token_source="login")  # noqa: S106
        if auth.header:
            self.values["token_header"] = auth.header
        for key, value in auth.settings.items():
            self.values[f"login.{key}"] = value
        self._set_username(auth.username)
        self.add_secret("password", auth.password, "password")
        if auth.secret_key is not None:
            self.add_secret("secret_key", auth.secret_key, "secret")

    def drop_login(self) -> None:
        """Leave a token to be entered: outkey logs in at the API's own origin only."""
        self.report.note_dropped(
            "login request",
            Text("the login is at another origin than the API: enter a token"),
            Level.ERROR,
        )
        self.values = {
            path: value
            for path, value in self.values.items()
            if not path.startswith("login.") and path != "username"
        }
        self.values["token_source"] = "entered"  # noqa: S105 - a choice
        for secret in ("password", "secret_key"):
            self.secrets.pop(secret, None)
        self.missing = ["token"]

    def _add_aws(self, auth: AwsAuth) -> None:
        self._set_type("aws_sigv4")
        for row in [row for row in self.headers if row.key.lower() in MADE_FOR_AWS]:
            self._replace_row_of_aws(row)
        entered = {
            "access_key_id": auth.access_key,
            "region": auth.region,
            "service": auth.service,
        }
        for key, text in entered.items():
            path = f"aws.{key}"
            self.values[path] = text
            if _SAMPLE_KEY_ID.fullmatch(text):  # no secret, and as good as another
                self.report.note_changed(
                    key, Text("it is that of an example: check it")
                )
            elif is_placeholder(text) or not text:
                self.values[path] = _to_replace(key)
                label = BY_PATH[path].label
                self.report.note_dropped(key, Text("enter {label}", label=label))
        self.report.note_changed(
            "AWS Signature Version 4",
            Text("each request is signed anew"),
            Level.NOTICE,
        )
        self.add_secret("secret_access_key", auth.secret_key, "secret access key")
        if auth.session_token:
            self.add_secret("session_token", auth.session_token, "session token")
        if "session_token" in (*self.secrets, *self.missing):
            self.report.note_changed(
                "session token",
                Text(
                    "temporary keys end within hours: enter permanent ones, or a Role"
                    " ARN"
                ),
            )

    def _replace_row_of_aws(self, row: CustomHeader) -> None:
        """Remove a row that is made for each request, and keep what it states."""
        self.headers.remove(row)
        item = shown_name("header", row.key)
        self.report.withdraw(item)
        self.report.note_changed(
            item, Text("it is made for each request"), Level.NOTICE
        )
        value = self.secrets.pop(row.secret_field, None)
        self.missing = [name for name in self.missing if name != row.secret_field]
        if row.key.lower() == "x-amz-security-token":  # secret by its name
            if value is not None:
                self.secrets["session_token"] = value
            else:
                self.missing.append("session_token")
        elif row.value == UNSIGNED_PAYLOAD:
            self.values["aws.payload"] = AwsPayload.UNSIGNED.value

    # ── rows ────────────────────────────────────────────────────────────────────────

    def add_header(
        self, name: str, value: str, *, is_secret: bool | None = None, around: str = ""
    ) -> None:
        """Add a header row, secret if it looks like a credential."""
        item = shown_name("header", name)
        value = tidy_value(value)
        secret = is_secret_header(name, value) if is_secret is None else is_secret
        is_taken = any(row.key.lower() == name.lower() for row in self.headers)
        if is_taken or len(self.headers) >= MAX_ROWS:
            self.report.note_dropped(item, Text("each header has one row"))
            return
        try:
            row = header_row(
                name, around if secret else value, secret=secret, place="headers"
            )
            if not secret:
                check_value(value, field=item)
        except ConfigError as error:
            self.report.note_dropped(item, error.message)
            return
        self.headers.append(row)
        if secret:
            self.add_secret(row.secret_field, value, item)
        else:
            self.report.note_taken(item, Text("it is sent with every request"))

    def add_parameter(self, name: str, value: str) -> None:
        """Add a query row for a credential."""
        item = shown_name("parameter", name)
        if any(row.key == name for row in self.query) or len(self.query) >= MAX_ROWS:
            self.report.note_dropped(item, Text("each parameter has one row"))
            return
        try:
            row = query_row(name, None, secret=True, place="query")
        except ConfigError as error:
            self.report.note_dropped(item, error.message)
            return
        self.query.append(row)
        self.add_secret(row.secret_field, value, item)

    def add_user_parameter(self, name: str, value: str) -> None:
        """Add a query row for the user that a password in the query belongs to."""
        item = shown_name("parameter", name)
        if len(self.query) >= MAX_ROWS:
            self.report.note_dropped(item, Text("each parameter has one row"))
            return
        try:
            self.query.append(query_row(name, value, secret=False, place="query"))
        except ConfigError as error:
            self.report.note_dropped(item, error.message)
            return
        self.report.note_taken(item, Text("it is sent with every request"))

    def add_cookies(self, value: str) -> None:
        """Add a row of cookies, with what is to be known about them."""
        self.report.note_changed(
            "cookies",
            Text("cookies of a session end: a token or a login lasts longer"),
        )
        self.add_header("Cookie", value, is_secret=True)

    # ── the whole ───────────────────────────────────────────────────────────────────

    def set_base_url(self, origin: str, path: str, *, is_unknown: bool) -> None:
        """Set Base URL and Network."""
        secure, is_changed = secure_origin(origin)
        if is_changed:
            self._note_https("URL")
        if is_unknown:
            self.report.note_dropped(
                "base_url",
                Text("the host is a placeholder: enter Base URL"),
                Level.ERROR,
            )
        self.values["base_url"] = f"{secure}{path}"
        hosts = [split_url(secure).host]
        token_url = self.values.get("oauth2.token_url")
        if token_url:
            hosts.append(split_url(str(token_url)).host)
        if any(map(is_internal_host, hosts)):
            self.values["network"] = "internal"
            self.report.note_changed(
                "network",
                Text(
                    "the IP address is internal, so Network is Internal trusted network"
                ),
                Level.NOTICE,
            )

    def _note_https(self, item: str) -> None:
        self.report.note_changed(
            item, Text("https instead of http: public APIs are never called in clear")
        )

    def set_reason(self) -> None:
        """Set a Reason where nothing proves who sends the requests."""
        rows = (*self.headers, *self.query)
        has_credential = (
            "authentication_type" in self.values
            or "script" in self.values
            or "tls.client_certificate" in self.values
            or any(row.secret for row in rows)
        )
        if has_credential:
            return
        is_internal = self.values.get("network") == "internal"
        self.values["no_auth_reason"] = "internal" if is_internal else "public_api"
        self.report.note_changed(
            "authentication",
            Text("there is no credential: check whether the API is public"),
        )

    def finish(self, name: str) -> ImportedConfiguration:
        """Return the configuration, with a reference for each secret."""
        self.report.note_changed(
            "environment",
            Text("it is Production, since the text does not name it: check it"),
            Level.NOTICE,
        )
        is_plain = str(self.values["base_url"]).startswith("http:")
        if is_plain and self.values.pop("aws.payload", None):
            self.report.note_changed(
                "aws.payload", Text("over plain http the signature covers the body")
            )
        values = {
            path: value
            for path, value in self.values.items()
            if self._is_valid(path, value)
        }
        names = [*self.secrets, *(n for n in self.missing if n not in self.secrets)]
        draft = ConfigurationDraft(
            name,
            values,
            tuple(self.headers),
            tuple(self.query),
            {secret: _reference_for(name, secret) for secret in names} | self.files,
        )
        try:
            draft.configuration()
        except ConfigError as error:
            # Its message has the name, which comes from the text.
            problem = error.message.values.get("problem", "")
            message = Text("this cannot be a configuration: {problem}", problem=problem)
            raise ConfigError(message, hint=error.hint, field=error.field) from None
        return ImportedConfiguration(draft, self.secrets)

    def _is_valid(self, path: str, value: object) -> bool:
        """Whether a field accepts this value; the report has the reason if not."""
        try:
            BY_PATH[path].parse(value)
        except ConfigError as error:
            if path == "base_url":
                raise
            self.report.note_dropped(path, error.message)
            return False
        return True


def _to_replace(key: str) -> str:
    """Return the placeholder of a required field until a user enters its value."""
    return "https://token-url.invalid/" if key == "token_url" else key.upper()


def _reference_for(name: str, secret: str) -> Reference:
    """Return where a secret could come from: a variable named after both."""
    words = re.sub(
        r"[^A-Za-z0-9]+", "_", f"{name}_{secret.partition(':')[2] or secret}"
    )
    variable = words.strip("_").upper()
    if not variable[:1].isalpha() or variable.startswith(OWN_PREFIX):
        variable = f"API_{variable}"
    return Reference(Store.ENV, variable)
