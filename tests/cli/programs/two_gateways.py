"""Two gateways of one installation, the second opened after the first was closed."""

import outkey


def print_statuses() -> None:
    for _ in range(2):
        with outkey.open() as gateway:
            print(gateway.send("acme", "GET", "/bearer").status)
