"""The secret of a cluster in Secrets Manager, which the master's role may read."""

from __future__ import annotations

import json
from typing import Dict, Optional

from determined_deploy.aws import account
from determined_deploy.aws.account import Account


def name_of(cluster_id: str) -> str:
    """The secret's name."""
    return f"determined/{cluster_id}"


class Secret:
    """The secret of one cluster."""

    def __init__(self, access: Account, cluster_id: str) -> None:
        self._client = access.client("secretsmanager")
        self._name = name_of(cluster_id)

    def read(self) -> Optional[Dict[str, str]]:
        """Its members; None if there is no secret."""
        from botocore.exceptions import ClientError

        try:
            answer = self._client.get_secret_value(SecretId=self._name)
        except ClientError as error:
            if account.code_of(error) == "ResourceNotFoundException":
                return None
            raise
        return dict(json.loads(answer["SecretString"]))

    def write(self, members: Dict[str, str], tags: Dict[str, str]) -> None:
        """Store the members, as a new secret if there is none."""
        text = json.dumps(members)
        if self.read() is None:
            listed = [{"Key": key, "Value": value} for key, value in tags.items()]
            self._client.create_secret(Name=self._name, SecretString=text, Tags=listed)
        else:
            self._client.put_secret_value(SecretId=self._name, SecretString=text)

    def delete(self) -> None:
        """Remove it; a snapshot of the database is restored with a new password."""
        if self.read() is not None:
            self._client.delete_secret(SecretId=self._name, ForceDeleteWithoutRecovery=True)
