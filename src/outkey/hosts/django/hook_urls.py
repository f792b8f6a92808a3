"""The endpoints of webhooks in a project of its own: include this below `hooks/`."""

from django.urls import path

from outkey.hosts.django.web.hooks import receive

urlpatterns = [path("<str:endpoint>", receive)]
