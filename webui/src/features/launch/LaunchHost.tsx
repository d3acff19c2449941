import { useSearchParams } from "react-router";

import { useSettingsLoaded } from "@/data/settings";
import { later } from "@/ui/later";

import { LAUNCHES } from "./useLaunch";

const LaunchDialog = later(() => import("./LaunchDialog"));
const TensorBoardForm = later(() => import("./TensorBoardForm"));

/** The dialog that `?launch=` names, over any page; loaded when it is first opened. */
export function LaunchHost() {
  const [params, setParams] = useSearchParams();
  const name = LAUNCHES.find((each) => each.name === params.get("launch"))?.name;
  // The dialog starts from the choices of the last launch.
  const isLoaded = useSettingsLoaded();
  if (!name || !isLoaded) return null;
  const close = () => {
    const next = new URLSearchParams(params);
    next.delete("launch");
    setParams(next, { replace: true });
  };
  return name === "tensorboard" ? <TensorBoardForm onClose={close} /> : <LaunchDialog key={name} kind={name} onClose={close} />;
}
