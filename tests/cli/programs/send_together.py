"""Sends from some threads at one moment, and prints how each request ended.

Arguments: the moment, the number of threads, the name of the configuration, and the
path if it is another than that of the authorization server, and the method.
"""

import json
import sys
import threading
import time

import outkey


def main(
    moment: float,
    count: int,
    configuration: str,
    path: str = "/oauth/api",
    method: str = "GET",
) -> None:
    gateway = outkey.open()
    ends: list[int | str] = []

    def send() -> None:
        time.sleep(max(0, moment - time.time()))
        try:
            response = gateway.send(configuration, method, path)
        except outkey.errors.OutkeyError as error:
            ends.append(str(error.code))
        else:
            ends.append(response.status)

    threads = [threading.Thread(target=send) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(ends))


main(float(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
