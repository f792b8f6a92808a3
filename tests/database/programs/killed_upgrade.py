"""Bring the tables up to date, and be killed before one of the statements."""

import os
import signal
import sys

from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from outkey.hosts.server.home import PAGES, prepare

statements_left = int(sys.argv[1])
execute = BaseDatabaseSchemaEditor.execute


def execute_or_die(
    self: BaseDatabaseSchemaEditor, sql: object, params: object = ()
) -> None:
    global statements_left  # noqa: PLW0603 - this is a program
    if statements_left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    statements_left -= 1
    execute(self, sql, params)  # type: ignore[arg-type]


BaseDatabaseSchemaEditor.execute = execute_or_die  # type: ignore[method-assign]
prepare(PAGES)
print(statements_left)
