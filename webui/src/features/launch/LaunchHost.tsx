import { lazy, Suspense } from "react";
import { useSearchParams } from "react-router";

import { useSettingsLoaded } from "@/data/settings";

import { LAUNCHES } from "./useLaunch";

const LaunchDialog = lazy(() => import("./LaunchDialog"));
const TensorBoardForm = lazy(() => import("./TensorBoardForm"));

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
  return (
    <Suspense fallback={null}>
      {name === "tensorboard" ? <TensorBoardForm onClose={close} /> : <LaunchDialog key={name} kind={name} onClose={close} />}
    </Suspense>
  );
}
