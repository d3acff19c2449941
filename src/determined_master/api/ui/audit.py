"""Routes of the audit log: what users changed in the cluster itself."""

from __future__ import annotations

from determined_master.api.http.access import IN_SERVICE
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import struct_of
from determined_master.services.history.audit import DEFAULT_ENTRIES, AuditLog
from determined_wire.ui import audit as wire


@route("GET", "/api/ui/v1/audit", access=IN_SERVICE)
async def get_audit(
    call: Call, request: wire.GetAuditRequest, audit_log: AuditLog
) -> wire.GetAuditResponse:
    """What users changed in the cluster itself, the newest first; for admins."""
    return await _read(call, request, audit_log)


@route("GET", "/api/ui/v1/acts", access=IN_SERVICE)
async def get_acts(
    call: Call, request: wire.GetAuditRequest, audit_log: AuditLog
) -> wire.GetActsResponse:
    """The audit log under its old path, which the next release removes."""
    page = await _read(call, request, audit_log)
    return wire.GetActsResponse(acts=page.entries, next=page.next)


async def _read(
    call: Call, request: wire.GetAuditRequest, audit_log: AuditLog
) -> wire.GetAuditResponse:
    rows = await audit_log.list_entries(
        call.caller,
        before=request.before,
        user_id=request.user_id,
        since=request.since,
        limit=request.limit,
    )
    entries = [struct_of(wire.AuditEntry, row) for row in rows]
    is_full = len(rows) == (request.limit or DEFAULT_ENTRIES)
    return wire.GetAuditResponse(entries=entries, next=rows[-1].id if is_full else 0)
