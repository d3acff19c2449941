/** Smooths the series of one chart away from the page's thread. */
import type { Numbers, Smoothing } from "../types";
import { smooth } from "./smooth";

export interface SmoothJob {
  id: number;
  lists: { x: Numbers; y: Numbers }[];
  smoothing: Smoothing;
}

self.onmessage = ({ data }: MessageEvent<SmoothJob>) => {
  const results = data.lists.map(({ x, y }) => smooth(x, y, data.smoothing));
  self.postMessage({ id: data.id, results }, { transfer: results.map((each) => each.buffer) });
};
