"""Addresses of the front door: signing in, accounts, sharing, the API, health."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from dashboard.api.v1 import api
from dashboard.health import healthz
from dashboard.people import account_views, directory_views, login_views, sharing_views

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("api/", api.urls),
    path("login/", login_views.Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("enter/", login_views.enter, name="enter"),
    path("invitation/", login_views.accept_invitation, name="accept-invitation"),
    path("reset/", login_views.reset_password, name="reset-password"),
    path("account/", account_views.account, name="account"),
    path("account/password/", account_views.change_password, name="account-password"),
    path("account/tokens/", account_views.create_token, name="token-create"),
    path("account/tokens/<int:token_id>/revoke/", account_views.revoke_token, name="token-revoke"),
    path("people/", directory_views.people, name="people"),
    path("people/invite/", directory_views.invite, name="invite"),
    path("people/audit/", directory_views.audit_trail, name="audit"),
    path("people/<int:user_id>/reset/", directory_views.issue_reset, name="person-reset"),
    path("people/<int:user_id>/quota/", directory_views.set_quota, name="person-quota"),
    path("jobs/<str:job_id>/sharing/", sharing_views.job_sharing, name="job-sharing"),
    path("jobs/<str:job_id>/share/", sharing_views.share_job, name="job-share"),
    path("jobs/<str:job_id>/looks/", sharing_views.payload_looks, name="job-looks"),
    path("jobs/<str:job_id>/hold/", sharing_views.hold_job, name="job-hold"),
    path("jobs/<str:job_id>/hold/lift/", sharing_views.lift_hold, name="job-unhold"),
    path("jobs/<str:job_id>/unshare/<int:user_id>/", sharing_views.unshare_job, name="job-unshare"),
]
