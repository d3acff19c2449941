import { useSearchParams } from "react-router";

import { useSettingsLoaded } from "@/data/settings";
import { later } from "@/ui/later";

import { LAUNCHES, withoutLaunch } from "./useLaunch";

const ExperimentDialog = later(() => import("./ExperimentDialog"));
const LaunchDialog = later(() => import("./LaunchDialog"));
const TensorBoardForm = later(() => import("./TensorBoardForm"));

/** The dialog that `?launch=` names, over any page; loaded when it is first opened. */
export function LaunchHost() {
  const [params, setParams] = useSearchParams();
  const word = params.get("launch");
  const name = word === "experiment" ? word : LAUNCHES.find((each) => each.name === word)?.name;
  // The dialog starts from the choices of the last launch.
  const isLoaded = useSettingsLoaded();
  if (!name || !isLoaded) return null;
  const close = () => setParams(withoutLaunch(params), { replace: true });
  if (name === "experiment") return <ExperimentDialog onClose={close} />;
  return name === "tensorboard" ? <TensorBoardForm onClose={close} /> : <LaunchDialog key={name} kind={name} onClose={close} />;
}
