import type { ReactNode } from "react";
import { useSearchParams } from "react-router";

import type { Experiment, Trial } from "@/data/experiments/queries";
import { absenceOf } from "@/data/profiler/charts";
import { useSamples } from "@/data/profiler/useSamples";
import { isFinished } from "@/data/states";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Select } from "@/ui/field/Field";

import { useExperimentContext } from "../context";
import { SystemCharts } from "../profiler/SystemCharts";

/** System metrics of the machines of a run. A search shows one of its runs, which the address names. */
export default function ProfilerTab() {
  const { experiment, trial, trials } = useExperimentContext();
  const [params, setParams] = useSearchParams();
  const asked = Number(params.get("run"));
  const shown = trial ?? trials.find((each) => each.id === asked) ?? trials[0];
  if (!shown)
    return <Empty title="No trial yet">System metrics appear here when the first trial has started.</Empty>;
  const picker = !trial && trials.length > 1 && (
    <Select
      label="Trial"
      hideLabel
      value={String(shown.id)}
      options={trials.map(({ id }) => ({ value: String(id), label: `Trial ${id}` }))}
      onValue={(run) =>
        setParams(
          (old) => {
            const next = new URLSearchParams(old);
            next.set("run", run);
            next.delete("zoom");
            return next;
          },
          { replace: true },
        )
      }
    />
  );
  return <Samples key={shown.id} experiment={experiment} trial={shown} picker={picker} />;
}

function Samples({
  experiment,
  trial,
  picker,
}: {
  experiment: Experiment;
  trial: Trial;
  picker: ReactNode;
}) {
  const done = isFinished(trial.state);
  const query = useSamples(trial.id ?? 0, done);
  return (
    <QueryView query={query} what="the system metrics">
      {({ series }) =>
        series.length > 0 ? (
          <SystemCharts series={series} controls={picker} />
        ) : (
          <div className="stack">
            {picker && <div className="row">{picker}</div>}
            <NoSamples experiment={experiment} done={done} />
          </div>
        )
      }
    </QueryView>
  );
}

function NoSamples({ experiment, done }: { experiment: Experiment; done: boolean }) {
  const absence = absenceOf(experiment.config, done);
  if (absence === "off")
    return (
      <Empty title="Profiling is off" command={CONFIGURATION}>
        The configuration key <code>profiling.enabled</code> records the use of GPUs, processors, memory,
        disks and network of a trial&apos;s agents. Set it to <code>true</code> and start the experiment again. A
        Core API script calls <code>core_context.profiler.on()</code> instead.
      </Empty>
    );
  if (absence === "waiting")
    return (
      <Empty title="No system metrics yet">
        Profiling is on. An agent sends its first report about ten seconds after the training code has
        started.
      </Empty>
    );
  return (
    <Empty title="No system metrics">
      Profiling was on, but the trial ended before an agent sent its first report, or the training code
      did not call <code>core_context.profiler.on()</code>.
    </Empty>
  );
}

const CONFIGURATION = "det experiment create config.yaml . --config profiling.enabled=true";
