import { cleanup, render, screen } from "@testing-library/react";
import { Component, type ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";

import { later } from "./later";

afterEach(cleanup);

const Named = ({ name }: { name: string }) => <p>hello {name}</p>;

class Boundary extends Component<{ children: ReactNode }, { error?: Error }> {
  override state: { error?: Error } = {};
  static getDerivedStateFromError = (error: Error) => ({ error });
  override render = () => (this.state.error ? <p>failed: {this.state.error.message}</p> : this.props.children);
}

it("shows the fallback, then the component, which is loaded once", async () => {
  const load = vi.fn(() => Promise.resolve({ default: Named }));
  const Later = later(load, { fallback: <p>loading</p> });
  const { rerender } = render(<Later name="Ada" />);
  expect(screen.getByText("loading")).toBeTruthy();
  await screen.findByText("hello Ada");
  rerender(<Later name="Bob" />);
  expect(screen.getByText("hello Bob")).toBeTruthy();
  cleanup();
  render(<Later name="Eve" />);
  expect(screen.getByText("hello Eve")).toBeTruthy();
  expect(load).toHaveBeenCalledTimes(1);
});

it("gives a failure to the error boundary, and loads again the next time", async () => {
  const silence = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const load = vi.fn(() => Promise.resolve({ default: Named }));
  load.mockRejectedValueOnce(new Error("no such file"));
  const Later = later(load);
  render(
    <Boundary>
      <Later name="Ada" />
    </Boundary>,
  );
  await screen.findByText("failed: no such file");
  silence.mockRestore();
  cleanup();
  render(<Later name="Ada" />);
  await screen.findByText("hello Ada");
});
