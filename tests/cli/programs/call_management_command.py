"""Calls the management command from code; prints a list and an exit code."""

import django
from django.core.management import CommandError, call_command

django.setup()
call_command("outkey", "list", "--json")
try:
    call_command("outkey", "show", "nobody")
except CommandError as error:
    print(error.returncode)
