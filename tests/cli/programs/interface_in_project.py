"""Includes the HTTP interface in the URLs of a project, and uses it with a token.

Prints one line for each request: its status, and what came back.
"""

import os
from typing import Any

import django
from django.conf import settings
from django.test import Client
from django.urls import include, path

django.setup()
settings.ALLOWED_HOSTS = ["testserver"]
settings.ROOT_URLCONF = __name__
urlpatterns = [path("gate/v1/", include("outkey.hosts.django.api.urls"))]

client = Client(headers={"Authorization": f"Bearer {os.environ['API_TOKEN']}"})

listed = client.get("/gate/v1/configurations")
print(listed.status_code, [entry["name"] for entry in listed.json()])
document = client.get("/gate/v1/openapi.json").json()
print("/gate/v1/send/{configuration}/{path}" in document["paths"])
# A server hands on the path as it was sent, under one of two names, or not at all.
sent = "/gate/v1/send/acme/echo/a%2Fb?x=1"
absolute = f"http://testserver{sent}"
named: list[dict[str, Any]] = [{"REQUEST_URI": sent}, {"RAW_URI": absolute}, {}]
for extra in named:
    answer = client.get(sent, **extra)
    print(answer.status_code, answer.json()["path"])
# This server hands on a body that cannot be read twice.
large = client.post("/gate/v1/send/acme/echo", b"x" * 200_000, "text/plain")
print(large.status_code, large.json()["body"])
streamed = client.get("/gate/v1/send/acme/huge/chunked?bytes=200000")
print(streamed.status_code, sum(map(len, streamed)))
streamed.close()
encoded = client.get(sent, REQUEST_URI="/gate/v1/s%65nd/acme/echo")
print(encoded.status_code, encoded.json()["error"]["field"])
print(Client().get("/gate/v1/configurations").status_code)
