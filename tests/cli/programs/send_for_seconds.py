"""Sends as often as it may for some seconds, which are the argument."""

import sys
import time

import outkey

gateway = outkey.open()
deadline = time.monotonic() + float(sys.argv[1])
while time.monotonic() < deadline:
    try:
        gateway.send("acme", "GET", "/bearer")
    except outkey.errors.OutkeyError:
        time.sleep(0.1)
