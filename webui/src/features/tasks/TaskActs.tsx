import { useRights } from "@/data/permissions/permissions";
import { rules } from "@/data/rules";
import type { InteractiveTask } from "@/data/tasks";
import { Button } from "@/ui/button/Button";

import { refusalOf } from "./eligible";
import { useTaskActs } from "./useTaskActs";

/** The acts that are used most, as buttons; nothing for who may not act. */
export function TaskActs({ task }: { task: InteractiveTask }) {
  const act = useTaskActs();
  const { mayAny } = useRights();
  if (!mayAny(rules.tasks.needs, task.workspaceId)) return null;
  const isPaused = refusalOf("unpause", task) === undefined;
  return (
    <>
      {task.generic &&
        (isPaused ? (
          <Button icon="play" onClick={() => void act("unpause", [task])}>
            Unpause
          </Button>
        ) : (
          <Button icon="pause" disabledReason={refusalOf("pause", task)} onClick={() => void act("pause", [task])}>
            Pause
          </Button>
        ))}
      <Button icon="close" disabledReason={refusalOf("kill", task)} onClick={() => void act("kill", [task])}>
        Kill
      </Button>
    </>
  );
}
