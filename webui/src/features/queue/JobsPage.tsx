import { JOB_KINDS, matchingJobs, useAllJobs, useJobsTopic, type AllJobs } from "@/data/cluster/jobs";
import { usePools } from "@/data/cluster/queries";
import { useParam } from "@/data/forms/param";
import { plural } from "@/data/format/numbers";
import { useUser } from "@/data/session";
import { clusterTabs } from "@/features/cluster/clusterTabs";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { Select, type Option } from "@/ui/field/Field";
import { SearchField } from "@/ui/field/SearchField";
import { Page } from "@/ui/layout/Page";
import { Toolbar } from "@/ui/layout/Toolbar";

import { JobsTable } from "./JobsTable";

/** `/jobs`: everything that runs or waits, in all pools; the filters stand in the address. */
export default function JobsPage() {
  const query = useAllJobs();
  const pools = usePools().data ?? [];
  return (
    <Page name="Jobs" crumbs={[{ label: "Cluster", to: "/clusters" }]} tabs={clusterTabs}>
      {pools.map(({ name = "" }) => (
        <Topic key={name} pool={name} />
      ))}
      <QueryView query={query} what="the jobs">
        {(all) => <Listed all={all} pools={pools.map(({ name = "" }) => name)} />}
      </QueryView>
    </Page>
  );
}

function Topic({ pool }: { pool: string }) {
  useJobsTopic(pool);
  return null;
}

function Listed({ all, pools }: { all: AllJobs; pools: string[] }) {
  const me = String(useUser().id ?? "");
  const [text, setText] = useParam("q", "");
  const [kind, setKind] = useParam("type", "");
  const [state, setState] = useParam("state", "");
  const [pool, setPool] = useParam("pool", "");
  const [user, setUser] = useParam("user", "");
  const jobs = matchingJobs(all.jobs, { text, kind, state, pool, user });
  const owners = new Map(all.jobs.map((job) => [String(job.userId), job.username]));
  owners.delete(me);
  if (user && user !== me && !owners.has(user)) owners.set(user, `User ${user}`);
  const others = [...owners].map(([value, label]) => ({ value, label }));
  return (
    <div className="stack">
      <Toolbar end={countWords(all, jobs.length)}>
        <SearchField label="Filter by name" value={text} onValue={setText} />
        <Filter label="Kind" all="All kinds" value={kind} onValue={setKind} options={JOB_KINDS.map(optionOf)} />
        <Filter
          label="State"
          all="Running and waiting"
          value={state}
          onValue={setState}
          options={[
            { value: "running", label: "Running" },
            { value: "waiting", label: "Waiting" },
          ]}
        />
        <Filter label="Pool" all="All pools" value={pool} onValue={setPool} options={pools.map(optionOf)} />
        <Filter label="User" all="All users" value={user} onValue={setUser} options={[{ value: me, label: "Mine" }, ...others]} />
      </Toolbar>
      {jobs.length > 0 ? (
        <JobsTable jobs={jobs} />
      ) : all.jobs.length > 0 ? (
        <Empty title="No job matches">{plural(all.jobs.length, "job is", "jobs are")} hidden by the filters above.</Empty>
      ) : (
        <Empty title="Nothing runs or waits" command="det experiment create config.yaml .">
          Experiments and tasks of all resource pools appear here until they end.
        </Empty>
      )}
    </div>
  );
}

function optionOf(value: string): Option {
  return { value, label: value };
}

function Filter({
  label,
  all,
  value,
  options,
  onValue,
}: {
  label: string;
  all: string;
  value: string;
  options: Option[];
  onValue(value: string): void;
}) {
  return <Select label={label} hideLabel value={value} onValue={onValue} options={[{ value: "", label: all }, ...options]} />;
}

/** Of jobs of others only their number is shown. */
function countWords({ total, hiddenCount, jobs }: AllJobs, shown: number): string {
  const count = shown < jobs.length ? `${shown} of ${plural(jobs.length, "job")}` : plural(shown, "job");
  const beyond = total - jobs.length - hiddenCount;
  const hidden = hiddenCount > 0 ? `, and ${hiddenCount} that you may not see` : "";
  return `${count}${hidden}${beyond > 0 ? `, and ${plural(beyond, "later one")}` : ""}`;
}
