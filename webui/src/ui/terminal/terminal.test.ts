import { describe, expect, it } from "vitest";

import { terminalKey } from "./keys";
import { styleSpansByProperties, whileSigned } from "./signed";

const pressed = (code: string, more: Partial<KeyboardEvent> = {}) => ({
  type: "keydown",
  code,
  ctrlKey: true,
  shiftKey: true,
  altKey: false,
  metaKey: false,
  ...more,
});

describe("the keys of the page", () => {
  it("are three, with Ctrl and Shift", () => {
    expect(["KeyC", "KeyV", "KeyL", "KeyX"].map((code) => terminalKey(pressed(code)))).toEqual(["copy", "paste", "leave", undefined]);
  });

  it.each([{ shiftKey: false }, { ctrlKey: false }, { altKey: true }, { metaKey: true }, { type: "keyup" }])("are not those of programs: %o", (more) => {
    expect(terminalKey(pressed("KeyC", more))).toBeUndefined();
  });
});

describe("styles of the library", () => {
  it("are signed while it opens, and no longer", () => {
    const nonces: (string | undefined)[] = [];
    const create = () => {
      nonces.push(document.createElement("style").nonce || undefined, document.createElement("div").nonce || undefined);
    };
    whileSigned(create, document, "abc");
    create();
    const fail = () => {
      throw new Error("broken");
    };
    expect(() => whileSigned(fail, document, "abc")).toThrow("broken");
    create();
    expect(nonces).toEqual(["abc", undefined, undefined, undefined, undefined, undefined]);
  });

  it("of spans are properties, other attributes stay attributes", () => {
    styleSpansByProperties();
    const span = document.createElement("span");
    span.setAttribute("style", "color: red;");
    span.setAttribute("title", "text");
    expect([span.style.color, span.getAttribute("style"), span.title]).toEqual(["red", "color: red;", "text"]);
  });
});
