"""A MariaDB of our own, in a temporary folder, run by a user who is not root."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pymysql

from ports import free_port

PROGRAM = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
START_SECONDS = 60
PASSWORD = "maria-p%40ss:word"  # as it is written in a URL


class MariaDb:
    """A server with one database for each test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._user: list[str] = []
        if os.getuid() == 0:
            shutil.chown(folder, "mysql", "mysql")
            self._user = ["--user=mysql"]
        install = shutil.which("mariadb-install-db")
        assert install
        subprocess.run(
            [
                install,
                "--no-defaults",
                *self._user,
                f"--datadir={folder}/data",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ],
            check=True,
            capture_output=True,
        )
        self.start()
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(
                "CREATE USER 'outkey'@'127.0.0.1' IDENTIFIED BY 'maria-p@ss:word'"
            )
            cursor.execute("GRANT ALL ON *.* TO 'outkey'@'127.0.0.1'")

    def start(self) -> None:
        assert PROGRAM
        self._process = subprocess.Popen(
            [
                PROGRAM,
                "--no-defaults",
                *self._user,
                f"--datadir={self._folder}/data",
                f"--port={self._port}",
                "--bind-address=127.0.0.1",
                f"--socket={self._folder}/s",
                f"--pid-file={self._folder}/pid",
                "--innodb-flush-log-at-trx-commit=0",
                "--skip-log-bin",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                self._connect().close()
            except pymysql.err.OperationalError:
                assert time.monotonic() < end, "MariaDB does not start"
                time.sleep(0.1)
            else:
                return

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def create(self, name: str) -> str:
        """Create a database, instead of one that may be there; return its URL."""
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")
            cursor.execute(f"CREATE DATABASE `{name}` CHARACTER SET latin1")
        return f"mysql://outkey:{PASSWORD}@127.0.0.1:{self._port}/{name}"

    def _connect(self) -> "pymysql.Connection[pymysql.cursors.Cursor]":
        return pymysql.connect(
            host="127.0.0.1", port=self._port, user="root", autocommit=True
        )
