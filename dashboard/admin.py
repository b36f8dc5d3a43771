"""The administration: accounts and what they own. Secrets show as digests; the audit trail can only be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet
from django.http import HttpRequest

from dashboard import jobs
from dashboard.models import ApiToken, AuditEntry, Job, JobShare, LoginFailure, OneTimeLink, Quota, Replay, Upload, Work

if TYPE_CHECKING:  # Django's own classes take no type parameters at run time
    AnyAdmin = admin.ModelAdmin[Any]
    AccountAdmin = UserAdmin[User]
else:
    AnyAdmin, AccountAdmin = admin.ModelAdmin, UserAdmin

admin.site.site_header = "Clonoscope administration"
admin.site.site_title = "Clonoscope"


class ReadOnly(AnyAdmin):
    """What the program alone writes: an edit here would not be what happened."""

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class Removable(ReadOnly):
    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return admin.ModelAdmin.has_delete_permission(self, request, obj)


class Accounts(AccountAdmin):
    """An account goes together with its jobs, and their files, and each deletion is in the audit trail."""

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        for job in Job.objects.filter(owner=obj):
            jobs.delete_job(job, request.user)
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            self.delete_model(request, user)


# Who may do what is decided by owning, sharing and staff; groups would promise more.
admin.site.unregister(Group)
admin.site.unregister(User)
admin.site.register(User, Accounts)


@admin.register(Job)
class JobAdmin(Removable):
    list_display = ("id", "name", "owner", "status", "bytes", "created_at")
    list_filter = ("status",)
    search_fields = ("id", "name", "owner__username")

    def delete_model(self, request: HttpRequest, obj: Job) -> None:
        jobs.delete_job(obj, request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        for job in queryset:
            jobs.delete_job(job, request.user)


@admin.register(Replay)
class ReplayAdmin(Removable):
    list_display = ("id", "job", "owner", "task", "status", "verdict", "created_at")
    list_filter = ("status", "verdict")
    search_fields = ("id", "job__id", "job__name", "owner__username")

    def delete_model(self, request: HttpRequest, obj: Replay) -> None:
        jobs.delete_replay(obj, request.user)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Replay]) -> None:
        for replay in queryset:
            jobs.delete_replay(replay, request.user)


@admin.register(Work)
class WorkAdmin(ReadOnly):
    list_display = ("id", "kind", "target", "state", "attempt", "lease_owner", "lease_until", "updated_at")
    list_filter = ("kind", "state")
    search_fields = ("target",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnly):
    list_display = ("at", "actor", "action", "target", "detail")
    list_filter = ("action",)
    search_fields = ("target", "actor__username")


@admin.register(JobShare)
class JobShareAdmin(Removable):
    list_display = ("job", "user", "granted_by", "at")
    search_fields = ("job__id", "job__name", "user__username")


@admin.register(Upload)
class UploadAdmin(Removable):
    list_display = ("id", "name", "owner", "offset", "size", "updated_at")


@admin.register(LoginFailure)
class LoginFailureAdmin(Removable):
    """Deleting one lets somebody try again at once."""

    list_display = ("at", "name", "address")
    search_fields = ("name", "address")


@admin.register(OneTimeLink)
class OneTimeLinkAdmin(Removable):
    exclude = ("digest",)
    list_display = ("purpose", "user", "created_by", "created_at", "expires_at", "used_at")
    list_filter = ("purpose",)


@admin.register(ApiToken)
class ApiTokenAdmin(AnyAdmin):
    """A token is revoked by giving it an end, or deleted."""

    exclude = ("digest",)
    readonly_fields = ("user", "name", "created_at", "last_used_at")
    list_display = ("name", "user", "created_at", "last_used_at", "revoked_at")
    search_fields = ("name", "user__username")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(Quota)
class QuotaAdmin(AnyAdmin):
    list_display = ("user", "max_bytes")
    search_fields = ("user__username",)
