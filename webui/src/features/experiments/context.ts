import { useOutletContext } from "react-router";

import type { ExperimentContext } from "./ExperimentPage";

/** The experiment of the page that a tab is in. */
export function useExperimentContext(): ExperimentContext {
  return useOutletContext<ExperimentContext>();
}
