/** The rights of a user on a job in the queue. The master's rules name the permissions. */
import type { Job } from "@/data/cluster/queries";
import { actionOf } from "@/data/experiments/actions";
import type { Rights } from "@/data/permissions/permissions";
import { rules } from "@/data/rules";

/** May end the job. */
export function mayKill({ mayAny }: Rights, { type, workspaceId }: Job): boolean {
  return mayAny(type === "TYPE_EXPERIMENT" ? [actionOf("kill").needs] : rules.tasks.needs, workspaceId);
}

/** May change the job's place, priority or pool. */
export function mayChange(rights: Rights, job: Job, isStrict: boolean): boolean {
  const { needs, needsIfStrict } = rules.queue;
  return (isStrict ? needsIfStrict : needs).some(rights.mayAnywhere) && mayKill(rights, job);
}
