import { useCallback } from "react";
import { useSearchParams } from "react-router";

import { BASE_PATH } from "@/api/client";
import { readCode, useCode } from "@/data/experiments/code";
import { QueryView } from "@/ui/feedback/Feedback";
import { FileBrowser } from "@/ui/files/FileBrowser";

import { useExperimentContext } from "../context";

/** The submitted files, with the submitted and the runtime configuration first. */
export default function CodeTab() {
  const { experiment } = useExperimentContext();
  const [params, setParams] = useSearchParams();
  const id = experiment.id ?? 0;
  const query = useCode(id);
  const load = useCallback((path: string) => readCode(experiment, path), [experiment]);
  return (
    <QueryView query={query} what="the code">
      {(files) => (
        <div className="stack">
          <div>
            <a href={`${BASE_PATH}/experiments/${id}/model_def`} download>
              Download all files
            </a>
          </div>
          <FileBrowser
            label={`Code of experiment ${id}`}
            nodes={files}
            load={load}
            path={params.get("file") ?? undefined}
            onPath={(path) => {
              const next = new URLSearchParams(params);
              next.set("file", path);
              setParams(next, { replace: true });
            }}
          />
        </div>
      )}
    </QueryView>
  );
}
