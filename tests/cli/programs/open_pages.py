"""Opens the installation of a Django project as its pages do."""

import django

django.setup()

from outkey.hosts.django.pages.access import installation

installation()
