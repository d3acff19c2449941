import { useState } from "react";

import { useGroups } from "@/data/people/groups";
import { changeShares, sharesKey, useShares, type Entrants } from "@/data/shares";
import type { InteractiveTask } from "@/data/tasks";
import { useUsers } from "@/data/workspaces";
import { Choices } from "@/features/admin/Choices";
import { QueryView } from "@/ui/feedback/Feedback";
import { FormDialog } from "@/ui/overlay/FormDialog";

/** Who may enter a notebook or a shell besides its owner. */
export function ShareDialog({ task, onClose }: { task: InteractiveTask; onClose(): void }) {
  const stored = useShares(task.id);
  const people = useUsers().data ?? [];
  const groups = useGroups().data ?? []; // users who may not list groups see those of the shares
  const [chosen, setChosen] = useState<Entrants>();
  const before = stored.data ?? { users: [], groups: [] };
  const now = chosen ?? before;
  const labels = new Map(people.map((each) => [each.username ?? "", each.displayName ? `${each.displayName} (${each.username})` : (each.username ?? "")]));
  const others = people.filter((each) => each.id !== task.userId && each.active).map((each) => each.username ?? "");
  return (
    <FormDialog
      title={`Share ${task.kind} ${task.name}`}
      description={`Whoever may enter the ${task.kind} runs code as its owner. Its owner and administrators always may.`}
      action="Save"
      keys={[sharesKey(task.id)]}
      refusal={chosen ? undefined : "Nothing has changed."}
      onSubmit={() => changeShares(task.id, before, now)}
      onClose={onClose}
    >
      <QueryView query={stored} what="the shares">
        {(shares) => (
          <>
            <Choices
              legend="Users"
              options={unique([...shares.users, ...others]).map((name) => ({ id: name, label: labels.get(name) ?? name }))}
              chosen={new Set(now.users)}
              onChosen={(next) => setChosen({ ...now, users: [...next] })}
            />
            <Choices
              legend="Groups"
              options={unique([...shares.groups, ...groups.map((each) => each.group?.name ?? "")]).map((name) => ({ id: name, label: name }))}
              chosen={new Set(now.groups)}
              onChosen={(next) => setChosen({ ...now, groups: [...next] })}
            />
          </>
        )}
      </QueryView>
    </FormDialog>
  );
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)].sort((a, b) => a.localeCompare(b));
}
