"""Send with a configuration of outkey from a program that has only its URL.

OUTKEY_URL=http://127.0.0.1:8765 OUTKEY_TOKEN=ok_… python send_by_http.py acme contacts
"""

import os
import sys

import httpx


def send(configuration: str, path: str) -> httpx.Response:
    """Return the API's response; outkey adds the credentials."""
    url = f"{os.environ['OUTKEY_URL']}/api/v1/send/{configuration}/{path}"
    headers = {"Authorization": f"Bearer {os.environ['OUTKEY_TOKEN']}"}
    return httpx.get(url, headers=headers, timeout=60)


if __name__ == "__main__":
    response = send(*sys.argv[1:3])
    if response.is_error:
        sys.exit(f"{response.status_code} {response.headers.get('X-Outkey-Cause')}")
    print(response.text)
