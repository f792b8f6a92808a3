"""Deletes the groups of all roles, as an administrator can on the pages."""

from outkey.hosts.server.home import PAGES, prepare

prepare(PAGES)

from django.contrib.auth.models import Group

Group.objects.all().delete()
