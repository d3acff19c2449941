"""What makes a page usable for all, measured on the page as it is now.

Each check returns a line for each defect.
"""

from __future__ import annotations

from playwright.sync_api import Page, expect
from tests.webui.axe import violations

SIZES = ((1280, 720), (320, 800))
NARROW = 320
THEMES = ("light", "dark")
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
TOO_WIDE = """() => {
  const scrolls = (box) => getComputedStyle(box).overflowX !== "visible";
  const found = [];
  const frames = [document.scrollingElement, ...document.querySelectorAll("main, [role=dialog]")];
  for (const frame of frames) {
    if (frame.scrollWidth <= frame.clientWidth) continue;
    const edge = frame.getBoundingClientRect().left + frame.clientWidth;
    const culprits = [...frame.querySelectorAll("*")].filter((each) => {
      if (each.getBoundingClientRect().right <= edge + 1) return false;
      for (let box = each.parentElement; box && box !== frame; box = box.parentElement)
        if (scrolls(box)) return false;
      return true;
    });
    const name = (each) => `${each.tagName}.${each.className} "${each.textContent.slice(0, 40)}"`;
    const names = culprits.slice(-3).map(name).join(", ");
    found.push(`${frame.tagName} is ${frame.scrollWidth} px wide: ${names}`);
  }
  return found;
}"""
SMALL = """(least) => {
  const found = [];
  const controls = 'button, input:not([type="hidden"]), select, textarea, summary, '
    + '[role="button"], [role="option"], [role^="menuitem"], [role="treeitem"]';
  for (const each of document.querySelectorAll(controls)) {
    if (!each.checkVisibility({ visibilityProperty: true })) continue;
    if (each.closest("[aria-hidden=true], [inert]")) continue;
    const boxes = [each, ...(each.labels ?? [])].map((box) => box.getBoundingClientRect());
    const width = Math.max(...boxes.map((box) => box.width));
    const height = Math.max(...boxes.map((box) => box.height));
    if (width === 0 || (width >= least && height >= least)) continue;
    const name = each.getAttribute("aria-label") || each.textContent || each.name;
    found.push(`${each.tagName.toLowerCase()} "${name}" is ${width} by ${height} px`);
  }
  return found;
}"""
LEAST_PX = 24
CODES = r"""() => {
  const outside = "pre, code, textarea, script, style, bdi, [role=log], .cm-editor";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const { textContent, parentElement } = texts.currentNode;
    if (parentElement?.closest(outside)) continue;
    found.push(...(textContent.match(/\b[A-Z]+(?:_[A-Z]+)+\b/g) ?? []));
  }
  return found;
}"""


def defects(page: Page) -> list[str]:
    """Violations of axe in both themes and sizes, small targets, and pages wider than the window.

    Codes of the API are defects too, where words are meant.

    In the second theme only the rules about colours run: themes are custom properties, so all
    other rules see the same page. The page is left in the first size and theme.
    """
    found = codes(page)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for theme in THEMES:
            show(page, theme)
            at = f"{width} px, {theme}"
            found += [f"{at}: {line}" for line in violations(page, theme != THEMES[0])]
        found += [f"{width} px: {line}" for line in small(page)]
        if width == NARROW:
            found += [f"{width} px: {line}" for line in wide(page)]
    width, height = SIZES[0]
    page.set_viewport_size({"width": width, "height": height})
    show(page, THEMES[0])
    return found


def codes(page: Page) -> list[str]:
    """Names of the API's enums, such as `TYPE_CPU`, in texts that are no code and no user's."""
    return [f"the text has the code {code}" for code in page.evaluate(CODES)]


def small(page: Page) -> list[str]:
    """Controls of less than 24 by 24 px; links in text are axe's to judge."""
    return list(page.evaluate(SMALL, LEAST_PX))


def wide(page: Page) -> list[str]:
    """What would have to be scrolled in two directions."""
    return list(page.evaluate(TOO_WIDE))


def show(page: Page, theme: str) -> None:
    """Wait until the page has a theme; the page follows the system's."""
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    page.evaluate(PAINTED)
