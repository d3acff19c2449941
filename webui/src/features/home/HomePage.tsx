import { useQueryClient } from "@tanstack/react-query";
import { Link } from "react-router";

import { plural } from "@/data/format/numbers";
import {
  noteVisit,
  useActivity,
  useOverview,
  useRecent,
  useRecentProjects,
  type Activity as ActivityFacts,
  type Overview,
} from "@/data/overview";
import { useUser } from "@/data/session";
import { isFinished } from "@/data/states";
import { LaunchMenu } from "@/features/launch/LaunchMenu";
import { NewExperimentButton } from "@/features/launch/NewExperimentButton";
import { Button } from "@/ui/button/Button";
import { Empty, QueryView } from "@/ui/feedback/Feedback";
import { toast } from "@/ui/feedback/toast";
import { Card, Cards, PlainTable } from "@/ui/layout/Card";
import { Page } from "@/ui/layout/Page";
import { StateBadge } from "@/ui/state/StateBadge";
import { Duration, Time } from "@/ui/text/Time";

import { Activity } from "./Activity";
import styles from "./Home.module.css";
import { Items } from "./Items";

const ACTIVITY_DAYS = 30;

/** `/dashboard`: what of mine runs, waits and ended, my activity, my last submissions. */
export default function HomePage() {
  const user = useUser();
  const overview = useOverview(user.id);
  const activity = useActivity(user.id, ACTIVITY_DAYS).data;
  return (
    <Page name="Home" actions={<><NewExperimentButton look="primary" /><LaunchMenu withNotebook /></>}>
      <div className="stack" style={{ gap: 16 }}>
        <Projects />
        <QueryView query={overview} what="your experiments">
          {(data) => <Columns overview={data} activity={activity} />}
        </QueryView>
        {activity !== null && <Activity days={activity?.days} />}
        <Recent userId={user.id} />
      </div>
    </Page>
  );
}

function Projects() {
  const projects = useRecentProjects().data ?? [];
  if (projects.length === 0) return null;
  return (
    <nav aria-label="Projects that you visited last" className={styles.projects}>
      {projects.map((project) => (
        <Link key={project.id} to={`/projects/${project.id}`} className={styles.project}>
          <span className="truncate">{project.name}</span>
          <span className="hint truncate">
            {project.workspaceName} · {plural(project.numExperiments ?? 0, "experiment")}
          </span>
        </Link>
      ))}
    </nav>
  );
}

function Columns({ overview, activity }: { overview: Overview; activity: ActivityFacts | null | undefined }) {
  const cache = useQueryClient();
  const seen = async () => {
    try {
      await noteVisit();
      const keys = [["home"], ["home-activity"]];
      await Promise.all(keys.map((queryKey) => cache.invalidateQueries({ queryKey })));
    } catch (error) {
      toast.failed("The lists stay", error);
    }
  };
  const since = overview.lastVisitAt ? (
    <span className="hint">
      since <Time at={overview.lastVisitAt} />
    </span>
  ) : (
    <span className="hint">in the last 7 days</span>
  );
  const ended = activity?.endedCount ?? 0;
  return (
    <Cards least={236}>
      <Card title={`Running (${overview.runningCount})`}>
        <Items items={overview.running} none="Nothing of yours runs now." />
      </Card>
      <Card title={`Waiting (${overview.queuedCount})`}>
        <Items items={overview.queued} none="Nothing of yours waits." />
      </Card>
      <Card
        title={`Failed (${overview.failureCount})`}
        actions={
          <>
            {since}
            {overview.failureCount + ended > 0 && (
              <Button small onClick={() => void seen()}>
                Mark as seen
              </Button>
            )}
          </>
        }
      >
        <Items items={overview.failures} none="Nothing failed since your last visit." />
      </Card>
      {activity !== null && (
        <Card title={activity ? `Finished (${ended})` : "Finished"} actions={since}>
          {activity && <Items items={activity.ended} none="Nothing finished since your last visit." />}
        </Card>
      )}
    </Cards>
  );
}

function Recent({ userId }: { userId: number | undefined }) {
  const query = useRecent(userId);
  return (
    <QueryView query={query} what="your last submissions">
      {(experiments) =>
        experiments.length === 0 ? (
          <Empty
            title="You have submitted nothing yet"
            command="det experiment create config.yaml ."
            action={<NewExperimentButton />}
          >
            The tutorial in the documentation leads from a script to a search.
          </Empty>
        ) : (
          <Card title="Your last submissions" flush>
            <PlainTable label="Your last submissions" columns={["Name", "State", "Project", "Submitted", "Duration"]}>
              {experiments.map((each) => (
                <tr key={each.id}>
                  <td>
                    <Link to={`/experiments/${each.id}`}>{each.name}</Link> <span className="hint number">{each.id}</span>
                  </td>
                  <td>
                    <StateBadge state={each.state} plain />
                  </td>
                  <td>
                    <Link to={`/projects/${each.projectId}`}>{each.projectName}</Link>
                  </td>
                  <td>
                    <Time at={each.startTime} />
                  </td>
                  <td>
                    <Duration start={each.startTime} end={isFinished(each.state) ? each.endTime : undefined} />
                  </td>
                </tr>
              ))}
            </PlainTable>
          </Card>
        )
      }
    </QueryView>
  );
}
