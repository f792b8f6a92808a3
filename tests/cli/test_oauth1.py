"""OAuth 1.0a as an operator uses it, against the sparring provider."""

from collections.abc import Iterator

import pytest

from cli.conftest import Terminal
from outkey.spar import Spar
from outkey.spar.oauth1 import CONSUMER, CONSUMER_SECRET
from outkey.spar.records import OAUTH1_TOKEN, OAUTH1_TOKEN_SECRET, OAuth1Temporary


@pytest.fixture
def spar() -> Iterator[Spar]:
    with Spar() as server:
        yield server


def document(spar: Spar, *lines: str, path: str = "/oauth1/api") -> str:
    return "\n".join(
        [
            "[configuration.shop]",
            f'base_url = "{spar.url}"',
            'network = "internal"',
            'authentication_type = "oauth1"',
            "limits = { retries = 0 }",
            f'verification = {{ test_path = "{path}" }}',
            "[configuration.shop.oauth1]",
            f'consumer_key = "{CONSUMER}"',
            *lines,
        ]
    )


def legs(spar: Spar) -> list[str]:
    paths = {
        "request_url": "initiate",
        "authorization_url": "authorize",
        "access_url": "token",
    }
    return [f'{key} = "{spar.url}/oauth1/{path}"' for key, path in paths.items()]


def apply(outkey: Terminal, text: str, **secrets: str) -> None:
    assert outkey("apply", "-", stdin=text).code == 0
    for name, value in secrets.items():
        assert outkey("secret", "set", "shop", name, stdin=value).code == 0


def test_an_entered_token_signs(outkey: Terminal, spar: Spar) -> None:
    apply(
        outkey,
        document(spar, 'signature_method = "HMAC-SHA256"'),
        consumer_secret=CONSUMER_SECRET,
        access_token=OAUTH1_TOKEN,
        access_token_secret=OAUTH1_TOKEN_SECRET,
    )
    assert outkey("test", "shop").code == 0
    form = ("--header", "Content-Type: application/x-www-form-urlencoded")
    sent = outkey(
        "request", "shop", "POST", "/oauth1/api?b=%2F+x", "--data", "a=ä&b=1", *form
    )
    assert sent.code == 0, sent.err
    shown = outkey("preview", "shop", "GET", "/oauth1/api")
    assert "OAuth ***" in shown.out
    assert OAUTH1_TOKEN not in shown.out + outkey("export").out


def test_an_application_alone_signs(outkey: Terminal, spar: Spar) -> None:
    apply(
        outkey,
        document(spar, path="/oauth1/two-legs"),
        consumer_secret=CONSUMER_SECRET,
    )
    assert outkey("test", "shop").code == 0


@pytest.mark.parametrize("words", ["0", pytest.param("1", marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"consumer_secret": "another-secret"}, "oauth1-signature"),
        ({"access_token_secret": "another-secret"}, "oauth1-signature"),
        ({"access_token": "another-token"}, "oauth1-token"),
        ({"consumer_key": "another"}, "oauth1-consumer"),
        ({"path": "skew=4000&"}, "clock-off"),
        ({"path": "method=HMAC-SHA256&"}, "oauth1-method"),
        ({"path": "problem=permission_denied&"}, "forbidden"),
        ({"path": "problem=nonce_used&"}, "oauth1-nonce"),
    ],
)
def test_a_wrong_setting_is_named_first(
    outkey: Terminal, spar: Spar, changed: dict[str, str], reason: str, words: str
) -> None:
    path = f"/oauth1/api?{changed.get('path', '')}words={words}"
    text = document(spar, path=path)
    text = text.replace(CONSUMER, changed.get("consumer_key", CONSUMER))
    secrets = {
        "consumer_secret": CONSUMER_SECRET,
        "access_token": OAUTH1_TOKEN,
        "access_token_secret": OAUTH1_TOKEN_SECRET,
    }
    secrets |= {name: changed[name] for name in secrets.keys() & changed.keys()}
    apply(outkey, text, **secrets)
    tested = outkey("test", "shop", "--json")
    assert tested.code == 1
    assert tested.json["findings"][0]["id"] == reason


def test_a_missing_key_is_an_error_of_the_document(
    outkey: Terminal, spar: Spar
) -> None:
    text = document(spar).replace(f'consumer_key = "{CONSUMER}"', "")
    refused = outkey("apply", "-", "--json", stdin=text)
    assert refused.code == 2
    assert refused.json["error"]["code"] == "configuration"
    assert refused.json["error"]["field"] == "oauth1.consumer_key"


class Agreeing(dict[str, OAuth1Temporary]):
    """Lets a user agree at once, with a verifier that is known."""

    def __setitem__(self, token: str, temporary: OAuth1Temporary) -> None:
        super().__setitem__(token, temporary)
        temporary.verifier = "12345678"


def test_a_user_authorizes_in_the_terminal(outkey: Terminal, spar: Spar) -> None:
    apply(outkey, document(spar, *legs(spar)), consumer_secret=CONSUMER_SECRET)
    before = outkey("request", "shop", "GET", "/oauth1/api", "--json")
    assert before.code == 2
    assert before.json["error"]["code"] == "reauthorization_needed"
    spar.authorization.oauth1.temporary = Agreeing()
    done = outkey("token", "authorize", "shop", stdin="12345678\n")
    assert done.code == 0, done.err
    assert f"Open {spar.url}/oauth1/authorize?oauth_token=spar-temporary-" in done.out
    assert "fresh" in done.out
    assert outkey("request", "shop", "GET", "/oauth1/api").code == 0
    assert outkey("token", "status", "shop", "--json").json["expires_at"] is None
    renewed = outkey("token", "renew", "shop", "--json")
    assert (renewed.code, renewed.json["error"]["code"]) == (
        2,
        "reauthorization_needed",
    )
    assert outkey("token", "forget", "shop").code == 0
    assert outkey("request", "shop", "GET", "/oauth1/api").code == 2


def test_a_wrong_verifier_is_refused(outkey: Terminal, spar: Spar) -> None:
    apply(outkey, document(spar, *legs(spar)), consumer_secret=CONSUMER_SECRET)
    refused = outkey("token", "authorize", "shop", "--json", stdin="0\n")
    assert refused.code == 1
    assert refused.json["error"]["code"] == "token_endpoint"
    assert refused.json["error"]["field"] == "oauth1.access_url"


def test_another_request_url_needs_the_secret_again(
    outkey: Terminal, spar: Spar
) -> None:
    text = document(spar, *legs(spar))
    apply(outkey, text, consumer_secret=CONSUMER_SECRET)
    moved = text.replace(f'url = "{spar.url}', f'url = "{spar.elsewhere}')
    moved = moved.replace(f'base_url = "{spar.elsewhere}', f'base_url = "{spar.url}')
    assert outkey("apply", "-", stdin=moved).code == 0
    refused = outkey("token", "authorize", "shop", "--json", stdin="0\n")
    assert (refused.code, refused.json["error"]["code"]) == (
        2,
        "secret_rebind_required",
    )
