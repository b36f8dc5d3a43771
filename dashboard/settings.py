"""Settings: one machine by default, more by environment variables (docs/operations.md lists them)."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from csp.constants import NONE, SELF

from dashboard import environment as env

BASE_DIR = Path(__file__).resolve().parent.parent
DATA = Path(env.text("CLONOSCOPE_DATA") or BASE_DIR / "var").resolve()
VERSION = "0.1.0"

DATABASE_URL = env.text("DATABASE_URL")
REDIS_URL = env.text("REDIS_URL")
SPARK_MASTER = env.master("SPARK_MASTER", "local[*]", needs=("STORE_URI", "LAKE_URI"))
_STORE = env.place("STORE_URI", DATA / "store")
# In a bucket there are bundles alone: what is still uploaded, or still grows, is written to here and there.
STORE = _STORE if isinstance(_STORE, Path) else DATA / "store"
STORE_BUCKET = None if isinstance(_STORE, Path) else _STORE
# In a folder the lake and its staging lie under one root: publishing is a rename, within one file system only.
LAKE_ROOT = env.place("LAKE_URI", DATA)
# Steps of replays are read while they are written, and audits with them: in a folder, wherever the tables of jobs are.
LAKE = (LAKE_ROOT if isinstance(LAKE_ROOT, Path) else DATA) / "lake"
STAGING = LAKE.parent / "staging"

# Several machines are production; one machine may be, by CLONOSCOPE_MODE.
MODE = env.text("CLONOSCOPE_MODE") or ("production" if DATABASE_URL or REDIS_URL else "embedded")
if MODE not in ("embedded", "production"):
    raise env.SettingError(f"CLONOSCOPE_MODE is {MODE!r}; it must be embedded or production.")
EMBEDDED = MODE == "embedded"
# Without a broker to share, the web process runs the worker itself.
WORKER_IN_PROCESS = not REDIS_URL

DEBUG = False
SECRET_KEY_FILE = DATA / "secret-key"


def _secret_key() -> str:
    given = env.text("SECRET_KEY")
    if given:
        return given
    if not EMBEDDED:
        raise env.SettingError(
            "SECRET_KEY is not set. Production mode does not start without one: "
            "set it to 50 or more random characters, the same for every process."
        )
    # A new folder gets this key when a command prepares it; merely reading settings creates nothing.
    return SECRET_KEY_FILE.read_text().strip() if SECRET_KEY_FILE.exists() else secrets.token_urlsafe(64)


SECRET_KEY = _secret_key()

ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS", [])

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "ninja",
    "dashboard",
]

MIDDLEWARE = [
    # First, so that also what the others refuse leaves the API in its own shape.
    "dashboard.middleware.ApiErrors",
    "django.middleware.security.SecurityMiddleware",
    "dashboard.middleware.Compressed",
    "dashboard.middleware.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "dashboard.middleware.Payloads",
    "dashboard.middleware.PrivateByDefault",
    "dashboard.middleware.Problems",
]

ROOT_URLCONF = "dashboard.urls"
ASGI_APPLICATION = "dashboard.asgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DATABASES = {"default": env.database(DATABASE_URL, DATA)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"] if (BASE_DIR / "static").is_dir() else []
STATIC_ROOT = Path(env.text("STATIC_ROOT") or DATA / "static")
WHITENOISE_USE_FINDERS = EMBEDDED
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if EMBEDDED
        else "dashboard.static_storage.ModuleManifestStorage"
    },
}

# -- sizes and quotas (bytes); what an upload may be is checked before its first byte
MAX_UPLOAD_BYTES = env.number("CLONOSCOPE_MAX_UPLOAD_BYTES", 4 << 30)
MAX_UNPACKED_BYTES = env.number("CLONOSCOPE_MAX_UNPACKED_BYTES", 64 << 30)
# -- of a store in a bucket: what copies of bundles may take in the data folder
BUNDLE_CACHE_BYTES = env.number("CLONOSCOPE_BUNDLE_CACHE_BYTES", 20 << 30, least=1 << 20)
QUOTA_BYTES = env.number("CLONOSCOPE_QUOTA_BYTES", 50 << 30)
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 << 20

# -- work
LEASE_S = env.number("CLONOSCOPE_LEASE_S", 30)
SWEEP_S = env.number("CLONOSCOPE_SWEEP_S", 10)
SPARK_HEAP_MIB = env.number("CLONOSCOPE_SPARK_HEAP_MIB", 1024)
SPARK_IDLE_S = env.number("CLONOSCOPE_SPARK_IDLE_S", 600)
REPLAYS_AT_ONCE = env.number("CLONOSCOPE_REPLAYS_AT_ONCE", 2)
# -- what one replay may use; named where it is reached
REPLAY_MEMORY_BYTES = env.number("CLONOSCOPE_REPLAY_MEMORY_BYTES", 2 << 30, least=64 << 20)
REPLAY_FILE_BYTES = env.number("CLONOSCOPE_REPLAY_FILE_BYTES", 16 << 30, least=1 << 20)
REPLAY_OPEN_FILES = env.number("CLONOSCOPE_REPLAY_OPEN_FILES", 512, least=32)
REPLAY_CPU_S = env.number("CLONOSCOPE_REPLAY_CPU_S", 2 * 3600, least=1)
RETENTION_DAYS = env.number("CLONOSCOPE_RETENTION_DAYS", 0, least=0)
PAYLOAD_LOG_DAYS = env.number("CLONOSCOPE_PAYLOAD_LOG_DAYS", 0, least=0)
# -- bundles up to this size are audited as soon as they are ingested; 0 audits none unasked
AUDIT_UNASKED_BYTES = env.number("CLONOSCOPE_AUDIT_UNASKED_BYTES", 16 << 20, least=0)
REPLAY_WALL_S = env.number("CLONOSCOPE_REPLAY_WALL_S", 6 * 3600, least=1)

CELERY_BROKER_URL = REDIS_URL or "memory://localhost/"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = 3 + REPLAYS_AT_ONCE
CELERY_WORKER_PREFETCH_MULTIPLIER = 4
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A page that queues work waits for the send: a broker that is away is asked twice and no more, for the row stays queued
# and the sweeper sends again.
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1, "socket_connect_timeout": 1}
    if REDIS_URL
    else {"polling_interval": 0.05}
)

CHANNEL_LAYERS: dict[str, Any] = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        # A socket waits for its next message five seconds at a time; redis-py would give up after as many.
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": 30}], "capacity": 1000},
    }
    if REDIS_URL
    else {"BACKEND": "channels.layers.InMemoryChannelLayer", "CONFIG": {"capacity": 1000}}
}

# -- safety
BEHIND_TLS = env.flag("CLONOSCOPE_TLS", not EMBEDDED)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = BEHIND_TLS
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_NAME = "clonoscope_session"
CSRF_COOKIE_NAME = "clonoscope_csrf"
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_HSTS_SECONDS = 365 * 86_400 if BEHIND_TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = BEHIND_TLS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY: dict[str, Any] = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["stderr"], "level": env.text("CLONOSCOPE_LOG_LEVEL", "WARNING")},
    "filters": {"one_line": {"()": "dashboard.server_log.WithoutTraceback"}},
    "loggers": {
        "clonoscope": {"level": env.text("CLONOSCOPE_LOG_LEVEL", "INFO")},
        # A foreign Host header is answered by 400: somebody's mistake, or a scanner's, and no fault of the server's.
        "django.security.DisallowedHost": {"filters": ["one_line"]},
    },
}
