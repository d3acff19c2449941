/** How to reach a task from a terminal, step by step. */
import { hasPage, type InteractiveTask } from "@/data/tasks";

export interface Step {
  what: string;
  command: string;
}

/** `master` is the address that a command line reaches the master at. */
export function connectSteps({ kind, id }: Pick<InteractiveTask, "kind" | "id">, master: string): Step[] {
  const login = { what: "Name the master, once for each terminal", command: `export DET_MASTER=${master}` };
  return [login, ...stepsOf(kind, id)];
}

function stepsOf(kind: string, id: string): Step[] {
  if (kind === "shell")
    return [
      { what: "Log in to the shell", command: `det shell open ${id}` },
      { what: "Forward a port of it to this machine", command: `det shell open ${id} -- -L 8080:localhost:8080` },
      { what: "Print the ssh command, for an editor that connects by ssh", command: `det shell show_ssh_command ${id}` },
    ];
  if (kind === "generic")
    return [
      { what: "Follow its log", command: `det task logs -f ${id}` },
      { what: "Print its configuration", command: `det task config ${id}` },
      { what: "Release its slots; unpause lets it continue", command: `det task pause ${id}` },
    ];
  const logs = { what: "Follow its log", command: `det ${kind} logs -f ${id}` };
  if (hasPage(kind)) return [{ what: "Open it in the browser", command: `det ${kind} open ${id}` }, logs];
  return [logs, { what: "Print its configuration", command: `det ${kind} config ${id}` }];
}
