"""Compares two pictures in the browser that drew one of them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

PICTURES = Path(__file__).parent / "pictures"
DRAWN_BY = PICTURES / "chromium.txt"
"""The version of the browser: another one draws letters and curves in another way."""
NEAR = 48
"""Channels may differ so far, of 255: edges of letters are not drawn alike by every version."""

_COUNT = """
async ([one, other, near]) => {
  const pixels = async (text) => {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const pen = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    pen.drawImage(bitmap, 0, 0);
    return pen.getImageData(0, 0, bitmap.width, bitmap.height);
  };
  const [a, b] = [await pixels(one), await pixels(other)];
  if (a.width !== b.width || a.height !== b.height) return { share: 1, box: null };
  let count = 0, left = a.width, top = a.height, right = 0, bottom = 0;
  for (let i = 0; i < a.data.length; i += 4) {
    const off = Math.max(...[0, 1, 2].map((k) => Math.abs(a.data[i + k] - b.data[i + k])));
    if (off <= near) continue;
    count += 1;
    const x = (i / 4) % a.width, y = Math.floor(i / 4 / a.width);
    left = Math.min(left, x); right = Math.max(right, x);
    top = Math.min(top, y); bottom = Math.max(bottom, y);
  }
  return { share: count / (a.width * a.height), box: count ? [left, top, right, bottom] : null };
}
"""


def difference(page: Page, one: bytes, other: bytes) -> tuple[float, Any]:
    """The share of pixels that differ, 0 to 1, and the box (left, top, right, bottom) around them.

    Pictures of different sizes differ wholly.
    """
    texts = [base64.b64encode(each).decode() for each in (one, other)]
    found = page.evaluate(_COUNT, [*texts, NEAR])
    return float(found["share"]), found["box"]
