"""An app that opens a gateway while the apps of its project get ready."""

from django.apps import AppConfig

import outkey


class ShopConfig(AppConfig):
    name = "shop"

    def ready(self) -> None:
        with outkey.open() as gateway:
            print(gateway.preview("acme").method)
