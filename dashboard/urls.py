"""The root of all addresses: admin, the front door (people, API, health), and the pages about jobs and replays."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("dashboard.urls_web")),
    path("", include("dashboard.urls_pages")),
]
