"""The root of all addresses: admin, the API, people's pages, and the pages about jobs and replays."""

from importlib.util import find_spec

from django.contrib import admin
from django.urls import include, path

handler403 = "dashboard.middleware.page_403"
handler404 = "dashboard.middleware.page_404"
handler500 = "dashboard.middleware.page_500"

urlpatterns = [
    path("admin/", admin.site.urls),
    *(
        path("", include(module))
        for module in ("dashboard.urls_web", "dashboard.urls_pages")
        if find_spec(module) is not None
    ),
]
