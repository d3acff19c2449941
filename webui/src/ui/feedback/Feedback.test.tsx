import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";

import { ApiError } from "@/api/errors";

import { QueryView } from "./Feedback";

afterEach(cleanup);

const show = (data: string | undefined, error: unknown) =>
  render(
    <QueryView query={{ data, error, isPending: false, refetch: () => undefined }} what="the run">
      {(text) => <p>{text}</p>}
    </QueryView>,
  );

describe("a view of a query", () => {
  it("keeps stale data beside an error", () => {
    show("metrics", new ApiError("GET", "/x", 503, "The database is away."));
    expect(screen.getByText("metrics")).toBeTruthy();
    expect(screen.getByRole("alert").textContent).toContain("The database is away.");
  });

  it("hides what was deleted or may no longer be seen", () => {
    show("metrics", new ApiError("GET", "/x", 404, "run 7 not found"));
    expect(screen.queryByText("metrics")).toBeNull();
    expect(screen.getByText("run 7 not found")).toBeTruthy();
  });
});
