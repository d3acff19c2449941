"""The account that a cluster is deployed to: clients of AWS, and its errors in words."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any, Iterator

from determined.cli import errors

_DENIED_BY_EC2 = "UnauthorizedOperation"
_DENIED = ("AccessDenied", _DENIED_BY_EC2, "AccessDeniedException", "AuthFailure")


class Account:
    """Clients of one region, with the credentials that the AWS CLI would use."""

    def __init__(self, args: argparse.Namespace) -> None:
        try:
            import boto3
        except ImportError:
            raise errors.CliError(
                "boto3 is not installed: pip install 'determined-platform[aws]'"
            ) from None
        with explained():
            self._session = boto3.Session(profile_name=args.profile, region_name=args.region)
        if self._session.region_name is None:
            raise errors.CliError("no region is configured: give --region, such as us-west-2")
        self.region: str = self._session.region_name

    def client(self, service: str, *, region: str = "") -> Any:
        """A client of a service, of another region if one is given; throttled calls are
        repeated."""
        from botocore.config import Config

        retries = Config(retries={"mode": "standard", "max_attempts": 8})
        return self._session.client(service, region_name=region or None, config=retries)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn errors of boto3 into words.

    Raises:
        CliError: a call failed; a missing permission is named.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        raise errors.CliError(in_words(error)) from None
    except BotoCoreError as error:
        raise errors.CliError(f"AWS: {error}") from None


def in_words(error: Any) -> str:
    """A refused call in words: its name, the reason, and the remedy for a missing right."""
    code, message = code_of(error), str(error.response.get("Error", {}).get("Message", ""))
    call = error.operation_name
    if code == _DENIED_BY_EC2:  # other services name the permission in their message
        call = f"ec2:{call}"
    if code in _DENIED:
        return (
            f"these credentials may not call {call}: {message} Add this permission to the policy "
            "of their user or role."
        )
    return f"AWS refused {call} ({code}): {message}"


def code_of(error: Any) -> str:
    """The code of an error of AWS."""
    return str(error.response.get("Error", {}).get("Code", ""))
