"""Opens gateways in a Django project that is not set up yet."""

from two_gateways import print_statuses

print_statuses()
