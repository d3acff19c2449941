import { act, render, screen } from "@testing-library/react";
import { createMemoryRouter, RouterProvider } from "react-router";
import { expect, test } from "vitest";

import { useParam } from "./param";

function Filters() {
  const [text, setText] = useParam("q", "");
  const [state, setState] = useParam("state", "");
  return (
    <>
      <output>{`${text}|${state}`}</output>
      <button
        onClick={() => {
          setText("job");
          setState("waiting");
        }}
      >
        Both
      </button>
      <button onClick={() => setText("")}>None</button>
    </>
  );
}

test("two values that are set in one moment are both kept, and a later one changes its own", async () => {
  const router = createMemoryRouter([{ path: "*", element: <Filters /> }], { initialEntries: ["/jobs?pool=a"] });
  render(<RouterProvider router={router} />);
  const click = (name: string) => act(async () => screen.getByRole("button", { name }).click());
  await click("Both");
  expect(router.state.location.search).toBe("?pool=a&q=job&state=waiting");
  expect(screen.getByRole("status").textContent).toBe("job|waiting");
  await click("None");
  expect(router.state.location.search).toBe("?pool=a&state=waiting");
  await act(async () => router.navigate("/jobs?pool=a"));
  await click("None");
  expect(router.state.location.search).toBe("?pool=a");
});
