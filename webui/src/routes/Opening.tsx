import { Loading } from "@/ui/feedback/Feedback";

/** Stands in the frame while the code of the first page loads. */
export function Opening() {
  return (
    <div style={{ padding: 24 }}>
      <Loading what="the page" />
    </div>
  );
}
