import { Button } from "@/ui/button/Button";
import { Menu } from "@/ui/overlay/Menu";

import { useLaunch, useLaunchMenu, useMayLaunch } from "./useLaunch";

/** Starts a notebook, a shell, a command or a TensorBoard; absent where the user may not. */
export function LaunchMenu({ withNotebook }: { withNotebook?: boolean }) {
  const mayLaunch = useMayLaunch();
  const launch = useLaunch();
  const items = useLaunchMenu();
  if (!mayLaunch) return null;
  return (
    <>
      {withNotebook && (
        <Button icon="book" onClick={() => launch("notebook")}>
          Launch JupyterLab
        </Button>
      )}
      <Menu
        trigger={
          <Button icon="plus" look={withNotebook ? "normal" : "primary"}>
            New task
          </Button>
        }
        items={items}
      />
    </>
  );
}
