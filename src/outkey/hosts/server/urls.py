"""Where the pages are: the admin at the root, and its home in front."""

from django.contrib import admin
from django.urls import path, reverse_lazy
from django.views.generic import RedirectView

urlpatterns = [
    path("", RedirectView.as_view(url=reverse_lazy("admin:outkey_home"))),
    path("", admin.site.urls),
]
