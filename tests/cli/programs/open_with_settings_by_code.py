"""Opens gateways in a Django project whose settings no variable names."""

import os

import django
from django.conf import settings
from shop import settings as module
from two_gateways import print_statuses

del os.environ["DJANGO_SETTINGS_MODULE"]
values = {name: value for name, value in vars(module).items() if name.isupper()}
settings.configure(**values)
django.setup()
print_statuses()
