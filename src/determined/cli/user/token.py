"""`det token`: access tokens, which replace passwords in scripts."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from determined.cli import connect, errors, pagination, trust
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.output import full_json, show
from determined.cli.user import user_group
from determined.common.api import BaseSession, Session, authentication
from determined.common.api import errors as api_errors

_HERE = "determined.cli.user.token"
_FORMAT = OneOf(
    (
        flag("--json", help="Output in JSON format"),
        flag("--yaml", help="Output in YAML format"),
    )
)
_ID = arg("token_id", type=int, help="ID of the access token")
_DESCRIPTION = arg("--description", "-d", help="purpose of the token")
_HEADERS = ("ID", "User ID", "Description", "Created At", "Expires At", "Revoked", "Token Type")
PATH = "/api/v1/tokens"

NOUN = Command(
    "token|tkn",
    "manage access tokens",
    commands=(
        Command(
            "create",
            "create access token",
            f"{_HERE}:create",
            (
                arg("username", nargs="?", help="user of the token (default: yourself)"),
                arg(
                    "--expiration-days",
                    "-e",
                    type=int,
                    help="lifespan in days; -1 for the longest allowed",
                ),
                _DESCRIPTION,
                _FORMAT,
            ),
        ),
        Command(
            "describe",
            "describe access tokens",
            f"{_HERE}:describe",
            (arg("token_id", type=int, nargs="+", help="IDs of access tokens"), _FORMAT),
        ),
        Command("edit", "edit access token", f"{_HERE}:edit", (_ID, _DESCRIPTION, _FORMAT)),
        Command(
            "list|ls",
            "list access tokens",
            f"{_HERE}:list_tokens",
            (
                arg("username", nargs="?", help="list only the tokens of this user"),
                flag("--show-inactive", help="also list revoked and expired tokens"),
                _FORMAT,
            ),
            is_default=True,
        ),
        Command(
            "login",
            "log in with an access token",
            f"{_HERE}:login",
            (arg("token", help="the access token"),),
        ),
        Command("revoke", "revoke access token", f"{_HERE}:revoke", (_ID,)),
    ),
)


def create(args: argparse.Namespace) -> None:
    """Create a token and print it. The master never returns it again."""
    session = connect.session(args)
    if args.username:
        number = user_group.user_id(session, args.username)
    else:
        number = session.get("/api/v1/me").json()["user"]["id"]
    body: Dict[str, Any] = {"userId": number, "description": args.description or ""}
    if args.expiration_days is not None:
        days = args.expiration_days
        body["lifespan"] = "-1" if days == -1 else f"{days * 24}h"
    answer = session.post(PATH, json=body).json()
    if args.json:
        show.as_json(answer)
    elif args.yaml:
        show.as_yaml(answer)
    else:
        print(f"TokenID: {answer['tokenId']}\nAccess-Token: {answer['token']}")


def describe(args: argparse.Namespace) -> None:
    """Print the given tokens, also revoked and expired ones.

    Raises:
        CliError: a token does not exist, or is not visible to the user.
    """
    params = {"tokenIds": args.token_id, "showInactive": True}
    tokens = pagination.fetch(connect.session(args), PATH, "tokenInfo", params)
    missing = sorted(set(args.token_id) - {info["id"] for info in tokens})
    if missing:
        raise errors.CliError(
            f"there is no access token {missing[0]} that you may see: see 'det token list'"
        )
    _show(args, tokens)


def edit(args: argparse.Namespace) -> None:
    """Change the description of a token.

    Raises:
        CliError: no option is given.
    """
    if args.description is None:
        raise errors.CliError("nothing to change: give --description")
    body = {"description": args.description}
    _show(args, [_patch(connect.session(args), args.token_id, body)])


def list_tokens(args: argparse.Namespace) -> None:
    """Print the valid tokens, or all."""
    params: Dict[str, Any] = {"showInactive": args.show_inactive}
    if args.username:
        params["username"] = args.username
    _show(args, pagination.fetch(connect.session(args), PATH, "tokenInfo", params))


def login(args: argparse.Namespace) -> None:
    """Store a token for its user, and make that user the active one."""
    master = connect.address_of(args)
    with Session(master, None, args.token, trust.cert_of(master), connect.RETRIES) as session:
        try:
            username = session.get("/api/v1/me").json()["user"]["username"]
        except api_errors.UnauthenticatedException:
            raise errors.CliError(
                f"the token is unknown to {master}, revoked or expired: create another with "
                "'det token create'"
            ) from None
    authentication.TokenStore(master).set_token(username, args.token)
    print(f"Logged in as {username}")


def revoke(args: argparse.Namespace) -> None:
    _patch(connect.session(args), args.token_id, {"setRevoked": True})
    print(f"Revoked access token {args.token_id}")


def _patch(session: BaseSession, number: int, body: Dict[str, Any]) -> Dict[str, Any]:
    answer: Dict[str, Any] = session.patch(f"{PATH}/{number}", json=body).json()["tokenInfo"]
    return answer


def _show(args: argparse.Namespace, tokens: List[Dict[str, Any]]) -> None:
    document = full_json.completed("TokenInfo", tokens) if args.json or args.yaml else []
    if args.json:
        show.as_json(document)
    elif args.yaml:
        show.as_yaml(document)
    else:
        rows = [
            [
                info["id"],
                info["userId"],
                info.get("description"),
                show.instant(info["createdAt"]),
                show.instant(info["expiry"]),
                info["revoked"],
                info["tokenType"].replace("TOKEN_TYPE_", ""),
            ]
            for info in tokens
        ]
        show.table(_HEADERS, rows)
