"""Routes of access tokens."""

from __future__ import annotations

from determined_master.api.http.access import FILTERED, IN_SERVICE
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import pagination
from determined_master.records.access import TokenRow
from determined_master.services.access.access_tokens import AccessTokens
from determined_master.services.access.users import ListOrder
from determined_wire.rest import tokens as wire
from determined_wire.rest.types.shared import OrderBy
from determined_wire.rest.types.user import TokenInfo, TokenType

_BY = wire.GetAccessTokensRequestSortBy
SORTS = {
    _BY.SORT_BY_UNSPECIFIED: "id",
    _BY.SORT_BY_USER_ID: "user_id",
    _BY.SORT_BY_EXPIRY: "expiry",
    _BY.SORT_BY_CREATED_AT: "created_at",
    _BY.SORT_BY_TOKEN_TYPE: "kind",
    _BY.SORT_BY_REVOKED: "revoked",
    _BY.SORT_BY_DESCRIPTION: "description",
}


@route("POST", "/api/v1/tokens", access=IN_SERVICE)
async def post_access_token(
    call: Call, request: wire.PostAccessTokenRequest, access_tokens: AccessTokens
) -> wire.PostAccessTokenResponse:
    """Make an access token; this answer alone has it."""
    token, token_id = await access_tokens.create(
        call.caller, request.user_id, request.lifespan or "", request.description
    )
    return wire.PostAccessTokenResponse(token=token, token_id=token_id)


@route("GET", "/api/v1/tokens", access=FILTERED)
async def get_access_tokens(
    call: Call, request: wire.GetAccessTokensRequest, access_tokens: AccessTokens
) -> wire.GetAccessTokensResponse:
    """Access tokens that are good, or all of them."""
    found, page = await access_tokens.find(
        call.caller,
        ids=request.token_ids,
        username=request.username,
        with_inactive=request.show_inactive,
        order=ListOrder(
            SORTS[request.sort_by],
            request.order_by is OrderBy.ORDER_BY_DESC,
            request.offset,
            request.limit,
        ),
    )
    return wire.GetAccessTokensResponse(
        token_info=[_info(row) for row in found], pagination=pagination(page)
    )


@route("PATCH", "/api/v1/tokens/{token_id}", access=IN_SERVICE)
async def patch_access_token(
    call: Call, request: wire.PatchAccessTokenRequest, access_tokens: AccessTokens
) -> wire.PatchAccessTokenResponse:
    """Change the description of an access token, or revoke it."""
    row = await access_tokens.change(
        call.caller,
        request.token_id,
        description=request.description,
        is_revoked=request.set_revoked,
    )
    return wire.PatchAccessTokenResponse(token_info=_info(row))


def _info(row: TokenRow) -> TokenInfo:
    return TokenInfo(
        id=row.id,
        user_id=row.user_id,
        expiry=row.expires_at,
        created_at=row.created_at,
        token_type=TokenType.TOKEN_TYPE_ACCESS_TOKEN,
        revoked=row.revoked_at is not None,
        description=row.description,
    )
