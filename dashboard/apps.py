"""The one Django app of the project."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"
    label = "dashboard"
    verbose_name = "Clonoscope"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dashboard import watching

        watching.connect_signals()
