"""The services of experiments, of their metrics, and of what they save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.backends.buckets.object_storage import ObjectStorage
from determined_master.services.checkpoints.files import CheckpointFiles
from determined_master.services.checkpoints.media import TrialMedia
from determined_master.services.checkpoints.service import Checkpoints
from determined_master.services.configs.defaults import storage_access
from determined_master.services.experiments.bulk import ExperimentBulk
from determined_master.services.experiments.continuations import Continuations
from determined_master.services.experiments.detached import Detached
from determined_master.services.experiments.edits import ExperimentEdits
from determined_master.services.experiments.importance import HpImportances
from determined_master.services.experiments.listing.lists import ExperimentLists
from determined_master.services.experiments.listing.pages import ExperimentPages
from determined_master.services.experiments.listing.runs import Runs
from determined_master.services.experiments.listing.search_query import ExperimentSearch
from determined_master.services.experiments.model_files import ModelFiles
from determined_master.services.experiments.run_bulk import RunBulk
from determined_master.services.experiments.rungs import SearchRungs
from determined_master.services.experiments.service import Experiments
from determined_master.services.experiments.story.stories import Stories
from determined_master.services.experiments.trial_sources import TrialSources
from determined_master.services.experiments.trials import Trials
from determined_master.services.metrics.charts import Charts
from determined_master.services.metrics.series import SeriesReads
from determined_master.services.metrics.service import Metrics
from determined_master.services.metrics.system_metrics import SystemMetrics
from determined_master.services.models.service import Models
from determined_master.services.models.versions import ModelVersions
from determined_master.services.search.previews import SearchPreviews

if TYPE_CHECKING:
    from determined_master.composition.core_services import CoreServices
    from determined_master.composition.queue_services import QueueServices
    from determined_master.composition.task_services import TaskServices
    from determined_master.services.access.guard import Guard
    from determined_master.services.answer_cache import CacheBudget


class TrainingServices:
    """Experiments with their searches and trials."""

    def __init__(
        self,
        base: CoreServices,
        queues: QueueServices,
        work: TaskServices,
        guard: Guard,
        memory: CacheBudget,
    ) -> None:
        db, engine, limits = base.db, base.engine, base.settings.config_limits
        self.experiments = Experiments(engine, db, work.configs, queues.pools)
        self.trials = Trials(engine, db, base.live, work.flusher.summaries, base.news)
        self.lists = ExperimentLists(db, memory)
        self.pages = ExperimentPages(db, memory)
        self.runs = Runs(db, base.live, memory)
        self.search = ExperimentSearch(db, self.lists, self.trials)
        self.edits = ExperimentEdits(db, work.checkpoint_gc, queues.terms, queues.pools, limits)
        self.continuations = Continuations(engine, db, work.configs, queues.bindings)
        self.sources = TrialSources(db, guard)
        self.detached = Detached(engine, db)
        self.model_files = ModelFiles(self.experiments)
        self.previews = SearchPreviews(work.layers)
        self.importances = HpImportances(db)
        self.rungs = SearchRungs(db)
        self.bulk = ExperimentBulk(db)
        self.run_bulk = RunBulk(db)
        self.stories = Stories(db)


class MetricServices:
    """Reports of metrics, and series of them."""

    def __init__(
        self, base: CoreServices, work: TaskServices, detached: Detached, memory: CacheBudget
    ) -> None:
        db, flusher = base.db, work.flusher
        self.samples = SystemMetrics(db)
        self.metrics = Metrics(
            base.engine, db, flusher, self.samples, detached.note_report, base.news
        )
        self.series = SeriesReads(db, flusher.points, flusher.summaries, memory)
        self.charts = Charts(db, flusher.points, memory)


class CheckpointServices:
    """Checkpoints, and the models made of them."""

    def __init__(self, base: CoreServices, work: TaskServices) -> None:
        access = storage_access(base.settings, work.layers)
        self.checkpoints = Checkpoints(base.db, base.news)
        buckets = ObjectStorage(access)
        self.files = CheckpointFiles(base.db, self.checkpoints, buckets, access)
        self.media = TrialMedia(base.db, base.cluster.cluster_id, buckets, access)
        self.gc = work.checkpoint_gc
        self.models = Models(base.db)
        self.versions = ModelVersions(base.db)
