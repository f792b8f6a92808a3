"""Opens gateways in a Django project that is set up."""

import django
from two_gateways import print_statuses

django.setup()
print_statuses()
