"""Messages of lists of generic tasks."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Int32, Message, Timestamp


class GetGenericTasksRequest(Message, frozen=True):
    """Asks for the newest generic tasks that the caller sees."""

    limit: Int32 = 0


class GetTaskTreeRequest(Message, frozen=True):
    """Asks for all tasks of the tree that a generic task is in."""

    task_id: str = ""


class ListedGenericTask(Message, frozen=True):
    """A generic task; `state` has no prefix, `parentId` and `forkedFrom` are empty for none."""

    id: str = ""
    job_id: str = ""
    name: str = ""
    state: str = ""
    reason: str = ""
    user_id: Int32 = 0
    workspace_id: Int32 = 0
    project_id: Int32 = 0
    resource_pool: str = ""
    slots: Int32 = 0
    parent_id: str = ""
    forked_from: str = ""
    can_pause: bool = False
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None


class GetGenericTasksResponse(Message, frozen=True):
    """Tasks, the newest first; of a tree, the oldest first."""

    tasks: Sequence[ListedGenericTask] = ()
