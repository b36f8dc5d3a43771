"""The web dashboard: a Django project and its one app."""
