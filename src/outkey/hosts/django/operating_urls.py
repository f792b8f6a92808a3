"""The URLs of health and metrics, for a project of its own."""

from django.urls import path

from outkey.hosts.django.web.operating import VIEWS

urlpatterns = [path(name.lstrip("/"), view) for name, view in VIEWS.items()]
