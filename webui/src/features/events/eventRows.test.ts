import { describe, expect, it } from "vitest";

import type { ClusterEvent } from "@/data/events";

import { eventsCsv, narrowed, placeOf, sinceOf, thingWord } from "./eventRows";

const event = (change: Partial<ClusterEvent> = {}): ClusterEvent => ({
  cursor: "c",
  at: "2026-01-31T12:00:00Z",
  kind: "experiment_paused",
  text: "experiment 12 was paused",
  level: "info",
  userId: 2,
  username: "ada",
  thing: { kind: "experiment", id: "12", name: "mnist", experimentId: 12, trialId: 0, workspaceId: 3 },
  ...change,
});

describe("events of the page", () => {
  it("are narrowed by all words and by the level", () => {
    const events = [event(), event({ level: "error", text: "trial 5 failed: out of memory", username: "" })];
    const count = (words: string, least: "info" | "warning" | "error" = "info") => narrowed(events, words, least).length;
    expect([count(""), count("mnist ADA"), count("mnist eve"), count("memory"), count("", "warning")]).toEqual([2, 1, 0, 1, 1]);
  });

  it("lead to their things", () => {
    const thing = (kind: string, id: string) => ({ ...event().thing, kind, id });
    expect(placeOf(thing("trial", "5"))).toBe("/trials/5");
    expect(placeOf(thing("generic", "a-b"))).toBe("/generic/a-b/logs");
    expect(placeOf(thing("checkpoint_gc", "a-b"))).toBeUndefined();
    expect([thingWord(thing("trial", "5")), thingWord(thing("notebook", "5f0c1a2b-1111"))]).toEqual(["trial 5", "notebook 5f0c1a2b"]);
  });

  it("make a file with who, what, when and on what", () => {
    expect(eventsCsv([event()])).toBe(
      "time,user,event,level,text,kind,id,name,workspace\r\n2026-01-31T12:00:00Z,ada,experiment_paused,info,experiment 12 was paused,experiment,12,mnist,3\r\n",
    );
  });

  it("begin at the start of a span", () => {
    expect(sinceOf("day", Date.parse("2026-01-31T12:00:00Z"))).toBe("2026-01-30T12:00:00.000Z");
    expect(sinceOf("", 0)).toBe("");
  });
});
