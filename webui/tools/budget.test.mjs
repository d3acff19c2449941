import { describe, expect, it } from "vitest";

import { filesOf, isOver, measure, report, routesOf } from "./budget.mjs";

const manifest = {
  "index.html": { file: "main.js", css: ["main.css"], imports: ["_react.js"], dynamicImports: ["LoginPage.tsx", "ListPage.tsx", "BigPage.tsx", "render.ts"] },
  "_react.js": { file: "react.js", dynamicImports: ["SmallTab.tsx"] },
  "LoginPage.tsx": { file: "login.js", imports: ["index.html"] },
  "ListPage.tsx": { file: "list.js", css: ["table.css"], imports: ["index.html", "_table.js"] },
  "_table.js": { file: "table.js", imports: ["_react.js"] },
  "BigPage.tsx": { file: "big.js", imports: ["_table.js", "_react.js"], dynamicImports: ["Plot.tsx"] },
  "SmallTab.tsx": { file: "small.js" },
  "Plot.tsx": { file: "plot.js", imports: ["_table.js"] },
  "render.ts": { file: "render.js" },
};
const sizes = { "main.js": 10, "react.js": 40, "login.js": 1, "list.js": 5, "table.js": 7, "big.js": 9, "small.js": 2, "plot.js": 20, "render.js": 3, "main.css": 4, "table.css": 6 };
const plan = {
  entry: "index.html",
  login: "LoginPage.tsx",
  firstList: "ListPage.tsx",
  parts: [{ name: "JS: chart", module: "Plot.tsx", base: ["BigPage.tsx"], limit: 20 }],
  limits: { login: 50, firstList: 62, route: 8, allJs: 97, css: 10, files: 7 },
};

describe("the sizes of a build", () => {
  it("count every file of an entry once", () => {
    expect([...filesOf(manifest, ["index.html", "ListPage.tsx"])].sort()).toEqual(["list.js", "main.css", "main.js", "react.js", "table.css", "table.js"]);
    expect(() => filesOf(manifest, ["Gone.tsx"])).toThrow("the manifest lacks Gone.tsx");
  });

  it("know pages and tabs by the tables of addresses", () => {
    expect(routesOf(manifest, "index.html")).toEqual(["BigPage.tsx", "ListPage.tsx", "LoginPage.tsx", "SmallTab.tsx"]);
  });

  it("leave out of a route and of a part what was loaded before", () => {
    const lines = measure(manifest, (file) => sizes[file], plan);
    expect(Object.fromEntries(lines.map(({ name, size }) => [name, size]))).toEqual({
      "JS: login": 51,
      "JS: shell and first list": 62,
      "JS: largest further route": 9,
      "JS: chart": 20,
      "JS: all": 97,
      "CSS: all": 10,
      "Files: first list": 7,
    });
    expect(lines.filter(isOver).map(({ name, detail }) => [name, detail])).toEqual([
      ["JS: login", "LoginPage.tsx"],
      ["JS: largest further route", "BigPage.tsx"],
    ]);
    expect(report(lines).split("\n")[0]).toBe("JS: login                  0.1 kB  of 0.1 kB  OVER  LoginPage.tsx");
  });
});
