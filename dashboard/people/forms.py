"""The forms of people's pages."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator


class TokenForm(forms.Form):
    name = forms.CharField(max_length=100, label="What is it for?")


class ShareForm(forms.Form):
    username = forms.CharField(max_length=150, label="Account")
    payloads = forms.BooleanField(required=False, label="also sees payloads")


class HoldForm(forms.Form):
    reason = forms.CharField(max_length=500, label="Why it must stay")


class InviteForm(forms.Form):
    username = forms.CharField(max_length=150, label="Account name", validators=[UnicodeUsernameValidator()])
    quota_gib = forms.IntegerField(min_value=0, max_value=1 << 20, required=False, label="Quota in GiB")
    is_staff = forms.BooleanField(required=False, label="May invite others and see the audit trail")

    def clean_username(self) -> str:
        # As Django's own forms do: names that look the same are the same.
        username = unicodedata.normalize("NFKC", str(self.cleaned_data["username"]))
        if User.objects.filter(username__iexact=username).exists():
            raise forms.ValidationError(f"There is an account named “{username}” already.")
        return username


class QuotaForm(forms.Form):
    quota_gib = forms.IntegerField(min_value=0, max_value=1 << 20, required=False, label="Quota in GiB")


if TYPE_CHECKING:  # Django's own class takes no type parameter at run time
    PasswordForm = SetPasswordForm[User]
else:
    PasswordForm = SetPasswordForm


class NewPasswordForm(PasswordForm):
    """A new password by a one-time link; the link's secret travels with it."""

    secret = forms.CharField(widget=forms.HiddenInput, max_length=200, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("new_password1", "new_password2"):
            self.fields[name].widget.attrs["autocomplete"] = "new-password"
