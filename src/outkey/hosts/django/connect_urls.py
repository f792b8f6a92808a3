"""The page of connect links in a project of its own: include this below `connect/`."""

from django.urls import path

from outkey.hosts.django.connect.views import callback, connect_page

# A path of more segments is no link, and must not be in the log either.
urlpatterns = [
    path("callback", callback, name="outkey_connect_callback"),
    path("<path:token>", connect_page, name="outkey_connect"),
]
