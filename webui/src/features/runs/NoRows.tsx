import type { Table } from "@/data/query/fields";
import { parseQuery } from "@/data/query/parse";
import { printNode, printQuery } from "@/data/query/print";
import { Button } from "@/ui/button/Button";
import { Empty } from "@/ui/feedback/Feedback";

/** Nothing yet, or nothing that matches: then each term can be taken away. */
export function NoRows({ query, onQuery, table }: { query: string; onQuery(query: string): void; table: Table }) {
  const words = table === "run" ? "trials" : "experiments";
  if (!query.trim())
    return (
      <Empty title={`No ${words} yet`} command="det experiment create config.yaml .">
        {table === "run" ? "An experiment creates one trial, or those of its search." : "An experiment has one trial, or those of its search."} Archived ones
        are hidden: <code>archived:any</code> shows them.
      </Empty>
    );
  const { root } = parseQuery(query);
  const without = (at: number) => printQuery({ ...root, children: root.children.filter((_, place) => place !== at) });
  return (
    <Empty
      title={`No ${words} match`}
      action={
        <div className="row" style={{ justifyContent: "center" }}>
          {root.children.map((child, at) => {
            const text = printNode(child, root);
            return (
              <Button key={at} small icon="close" aria-label={`Remove ${text}`} onClick={() => onQuery(without(at))}>
                <code>{text}</code>
              </Button>
            );
          })}
          <Button small look="quiet" onClick={() => onQuery("")}>
            Clear the query
          </Button>
        </div>
      }
    >
      Take a term away to find more. Archived ones need <code>archived:any</code>.
    </Empty>
  );
}
