import { describe, expect, it } from "vitest";

import { refusalOf, toWebhook, type Draft } from "./draft";

const DRAFT: Draft = {
  name: " hook ",
  url: "https://example.org/x",
  workspaceId: 0,
  slack: false,
  specific: false,
  completed: true,
  failed: false,
  custom: false,
  regex: "",
};

describe("refusalOf", () => {
  it("accepts a name, a URL and a trigger", () => expect(refusalOf(DRAFT)).toBeUndefined());
  it("needs each of them", () => {
    expect(refusalOf({ ...DRAFT, name: " " })).toMatch(/name/);
    expect(refusalOf({ ...DRAFT, url: "ftp://x" })).toMatch(/https/);
    expect(refusalOf({ ...DRAFT, url: "x" })).toMatch(/https/);
    expect(refusalOf({ ...DRAFT, completed: false })).toMatch(/trigger/);
  });
  it("does not count alerts of scripts for all experiments", () => {
    expect(refusalOf({ ...DRAFT, completed: false, custom: true })).toMatch(/trigger/);
    expect(refusalOf({ ...DRAFT, completed: false, custom: true, specific: true })).toBeUndefined();
  });
});

describe("toWebhook", () => {
  it("writes the triggers of the wire", () => {
    expect(toWebhook({ ...DRAFT, failed: true, regex: "CUDA.*", workspaceId: 4 })).toEqual({
      name: "hook",
      url: "https://example.org/x",
      workspaceId: 4,
      mode: "WEBHOOK_MODE_WORKSPACE",
      webhookType: "WEBHOOK_TYPE_DEFAULT",
      triggers: [
        { triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", condition: { state: "COMPLETED" } },
        { triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", condition: { state: "ERROR" } },
        { triggerType: "TRIGGER_TYPE_TASK_LOG", condition: { regex: "CUDA.*" } },
      ],
    });
  });
});
