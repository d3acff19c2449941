"""Messages of images, tables, histograms, audio and texts of trials."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Int32, Message, Steps


class GetTrialMediaRequest(Message, frozen=True):
    """Asks for the media of a trial."""

    id: Int32 = 0


class MediaSeries(Message, frozen=True):
    """Values of one group, name and type; that of a step is at `PATH/STEPS.KIND.EXTENSION`.

    STEPS has at least 12 digits. `kind` is image, table, histogram, audio or text.
    """

    group: str = ""
    name: str = ""
    kind: str = ""
    extension: str = ""
    path: str = ""
    steps: Sequence[Steps] = ()


class GetTrialMediaResponse(Message, frozen=True):
    """Series by group and name; `isCut` says that there are more files than are listed."""

    media: Sequence[MediaSeries] = ()
    is_cut: bool = False
