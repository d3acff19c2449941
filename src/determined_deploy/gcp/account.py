"""The credentials of `det deploy gcp`: those that Google's own clients would find."""

from __future__ import annotations

import argparse
from typing import Any, Dict, Tuple

from determined.cli import errors
from determined_deploy.gcp.options import check_project
from determined_wire import google_rest

TIMEOUT_S = 60.0
_REMEDY = (
    "run gcloud auth application-default login, or give --keypath with the key file of a service "
    "account"
)


class GcpAccount:
    """Credentials with a token that is renewed when it expires."""

    def __init__(self, args: argparse.Namespace) -> None:
        """
        Args:
            args: `keypath` and `project_id` are used.

        Raises:
            CliError: google-auth is not installed, or there are no credentials.
        """
        try:
            import google.auth
            from google.auth import exceptions
        except ImportError:
            raise errors.CliError(
                "google-auth is not installed: pip install 'determined-platform[gcp]'"
            ) from None
        keypath = getattr(args, "keypath", None)
        self._transport = google_rest.Transport(TIMEOUT_S)
        try:
            credentials = (
                _of_file(keypath)
                if keypath
                else google.auth.default([google_rest.SCOPE], request=self._transport)
            )
        except exceptions.DefaultCredentialsError as error:
            what = f"--keypath {keypath}" if keypath else "there are no credentials of GCP"
            raise errors.CliError(f"{what}: {_first_line(error)}; {_REMEDY}") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            text = errors.in_words(error)
            raise errors.CliError(f"--keypath {keypath}: {text}; {_REMEDY}") from None
        self._credentials = credentials[0]
        self._is_person = type(credentials[0]).__module__ == "google.oauth2.credentials"
        self.project: str = args.project_id or credentials[1] or ""
        if not self.project:
            raise errors.CliError(
                "no project is known: give --project-id; gcloud projects list shows yours"
            )
        check_project(self.project)

    def headers(self) -> Dict[str, str]:
        """Headers of each call. Calls of persons name the project that pays for them.

        Raises:
            CliError: as `token`.
        """
        fields = {"Authorization": f"Bearer {self.token()}"}
        if self._is_person:
            fields["X-Goog-User-Project"] = self._credentials.quota_project_id or self.project
        return fields

    def token(self) -> str:
        """A token that is valid at present.

        Raises:
            CliError: Google refuses the credentials, or does not answer.
        """
        from google.auth import exceptions

        if not self._credentials.valid:
            try:
                self._credentials.refresh(self._transport)
            except exceptions.GoogleAuthError as error:
                raise errors.CliError(
                    f"GCP gives no token for these credentials: {_first_line(error)}; {_REMEDY}"
                ) from None
        return str(self._credentials.token)


def _of_file(path: str) -> Tuple[Any, str]:
    """The credentials in a service account's key file, and their project."""
    from google.oauth2 import service_account

    credentials = service_account.Credentials.from_service_account_file(
        path, scopes=[google_rest.SCOPE]
    )
    return credentials, str(credentials.project_id or "")


def _first_line(error: Exception) -> str:
    return str(error.args[0] if error.args else error).strip().splitlines()[0].rstrip(".")
