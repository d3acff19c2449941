"""Recording of training code that reports nothing by itself: `determined.autolog()`."""

from determined._autolog._session import recorded_frameworks as recorded_frameworks
from determined._autolog._switch import autolog as autolog
