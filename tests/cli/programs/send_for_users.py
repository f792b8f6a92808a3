"""Sends for many users from some threads at one moment, and prints how it ended.

Arguments: the moment, the number of threads, and the number of users. A response that
names another user than the request's is `mixed`.
"""

import json
import sys
import threading
import time

import outkey


def main(moment: float, count: int, users: int) -> None:
    gateway = outkey.open()
    ends: list[int | str] = []

    def send(user: str) -> None:
        time.sleep(max(0, moment - time.time()))
        token = f"spar-user-{user}"
        try:
            response = gateway.send("acme", "GET", "/oauth/api", subject_token=token)
        except outkey.errors.OutkeyError as error:
            ends.append(str(error.code))
        else:
            data = response.json()
            is_right = isinstance(data, dict) and data.get("subject") == user
            ends.append(response.status if is_right else "mixed")

    threads = [
        threading.Thread(target=send, args=(f"u{number % users}",))
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(ends))


main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
