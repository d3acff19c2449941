import { describe, expect, it } from "vitest";

import { renderMarkdown } from "./render";

describe("Markdown", () => {
  it("renders headings, lists, tables and links that open outside", () => {
    const html = renderMarkdown("# A\n\n- b\n\n|x|\n|-|\n|1|\n\n[c](https://example.org)");
    expect(html).toContain("<h1>A</h1>");
    expect(html).toContain("<li>b</li>");
    expect(html).toContain("<td>1</td>");
    expect(html).toMatch(/<a [^>]*rel="noopener noreferrer nofollow"/);
  });

  it("moves headings below those of the page", () => {
    expect(renderMarkdown("# A\n\n###### B", 1)).toBe("<h2>A</h2>\n<h6>B</h6>\n");
  });

  it.each([
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "<iframe src=//evil></iframe>",
    "<style>body{display:none}</style>",
    '<a href="jAvAsCrIpT:alert(1)">x</a>',
  ])("runs nothing of %s", (text) => {
    const box = document.createElement("div");
    box.innerHTML = renderMarkdown(text);
    expect(box.querySelector("script, iframe, style, img[onerror], [onclick]")).toBeNull();
    for (const link of box.querySelectorAll("a")) expect(link.getAttribute("href") ?? "").not.toMatch(/^(javascript|data):/i);
  });
});
