/** The difference between two orders of columns as short texts, for addresses. */

/**
 * `-id` for a column that is gone, `id@place` for one that was added or moved.
 *
 * Columns that kept their order among each other are not named.
 */
export function encodeDelta(base: readonly string[], now: readonly string[]): string[] {
  const present = new Set(now);
  const kept = new Set(longestInOrder(base, now));
  return [
    ...base.filter((id) => !present.has(id)).map((id) => `-${id}`),
    ...now.flatMap((id, place) => (kept.has(id) ? [] : [`${id}@${place}`])),
  ];
}

export function applyDelta(base: readonly string[], delta: readonly string[]): string[] {
  const gone = new Set(delta.filter((each) => each.startsWith("-")).map((each) => each.slice(1)));
  const placed = delta.flatMap((each): [string, number][] => {
    const at = each.lastIndexOf("@");
    const place = Number(each.slice(at + 1));
    if (each.startsWith("-") || at <= 0 || !Number.isInteger(place) || place < 0) return [];
    return [[each.slice(0, at), place]];
  });
  const moved = new Set(placed.map(([id]) => id));
  const result = base.filter((id) => !gone.has(id) && !moved.has(id));
  placed.sort((a, b) => a[1] - b[1]).forEach(([id, place]) => result.splice(place, 0, id));
  return [...new Set(result)];
}

/** The most ids of both lists that stand in the same order (longest increasing subsequence). */
function longestInOrder(base: readonly string[], now: readonly string[]): string[] {
  const placeOf = new Map(base.map((id, place) => [id, place]));
  const common = now.filter((id) => placeOf.has(id));
  const places = common.map((id) => placeOf.get(id) ?? 0);
  const ends: number[] = [];
  const before: number[] = [];
  places.forEach((place, at) => {
    let low = 0;
    let high = ends.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((places[ends[middle] ?? 0] ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    before[at] = low > 0 ? (ends[low - 1] ?? -1) : -1;
    ends[low] = at;
  });
  const result: string[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at] ?? -1) result.unshift(common[at] ?? "");
  return result;
}
