"""The administration: accounts and what they own. Secrets show as digests; the audit trail can only be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from dashboard import jobs
from dashboard.models import (
    ApiToken,
    AuditEntry,
    Job,
    JobShare,
    LegalHold,
    LoginFailure,
    OneTimeLink,
    PayloadLook,
    Quota,
    Replay,
    Tombstone,
    Upload,
    Work,
)
from dashboard.people import holds
from dashboard.people.identity import person

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
        """What a hold keeps keeps its account too; replays of others' jobs leave tombstones as well."""
        try:
            with transaction.atomic():
                holds.check_account(obj)
                for job in Job.objects.filter(owner=obj):
                    jobs.delete_job(job, request.user)
                for replay in Replay.objects.filter(owner=obj):
                    jobs.delete_replay(replay, request.user)
                super().delete_model(request, obj)
        except jobs.OnHold as held:
            self.message_user(request, f"{obj} was not deleted. {held}", messages.ERROR)

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

    # Which may quote what the recording says: who runs the place need not see it.
    exclude = ("message", "facts")

    def delete_model(self, request: HttpRequest, obj: Job) -> None:
        try:
            jobs.delete_job(obj, request.user)
        except jobs.OnHold as held:
            self.message_user(request, str(held), messages.ERROR)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        for job in queryset:
            self.delete_model(request, job)


@admin.register(Replay)
class ReplayAdmin(Removable):
    list_display = ("id", "job", "owner", "task", "status", "verdict", "created_at")
    list_filter = ("status", "verdict")
    search_fields = ("id", "job__id", "job__name", "owner__username")

    exclude = ("message", "sentence", "detail", "change", "before")

    def delete_model(self, request: HttpRequest, obj: Replay) -> None:
        try:
            jobs.delete_replay(obj, request.user)
        except jobs.OnHold as held:
            self.message_user(request, str(held), messages.ERROR)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Replay]) -> None:
        for replay in queryset:
            self.delete_model(request, replay)


@admin.register(Work)
class WorkAdmin(ReadOnly):
    exclude = ("message",)
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
    list_display = ("job", "user", "payloads", "granted_by", "at")
    list_filter = ("payloads",)
    search_fields = ("job__id", "job__name", "user__username")


@admin.register(PayloadLook)
class PayloadLookAdmin(ReadOnly):
    """Only retention takes from it."""

    list_display = ("at", "who", "job_id", "what")
    search_fields = ("who", "job_id", "what")


@admin.register(Tombstone)
class TombstoneAdmin(ReadOnly):
    list_display = ("target", "kind", "name", "deleted_at", "deleted_by")
    list_filter = ("kind",)
    search_fields = ("target", "name", "deleted_by")


@admin.register(LegalHold)
class LegalHoldAdmin(AnyAdmin):
    """Staff put jobs of anybody on hold here, and lift holds; a standing one is not changed."""

    fields = ("job", "reason", "who", "at")
    readonly_fields = ("who", "at")
    autocomplete_fields = ("job",)
    list_display = ("job", "who", "at", "reason")
    search_fields = ("job__id", "job__name", "who", "reason")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: LegalHold, form: Any, change: bool) -> None:
        made = holds.put(obj.job, by=person(request), reason=obj.reason)
        obj.pk, obj.who, obj.at, obj.set_by = made.pk, made.who, made.at, made.set_by

    def delete_model(self, request: HttpRequest, obj: LegalHold) -> None:
        holds.lift(obj.job, by=person(request))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[LegalHold]) -> None:
        for hold in queryset:
            self.delete_model(request, hold)


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
