/**
 * What the pages of a build load, by Vite's manifest, against a budget. No files are read here.
 *
 * A manifest maps a module to its chunk: `file`, `css`, the chunks that it imports (`imports`), and
 * those that it may load later (`dynamicImports`).
 */

/** The files of some entries with everything that they import statically. */
export function filesOf(manifest, entries) {
  const files = new Set();
  const seen = new Set();
  const visit = (key) => {
    const chunk = manifest[key];
    if (!chunk) throw new Error(`the manifest lacks ${key}`);
    if (seen.has(key)) return;
    seen.add(key);
    files.add(chunk.file);
    chunk.css?.forEach((file) => files.add(file));
    chunk.imports?.forEach(visit);
  };
  entries.forEach(visit);
  return files;
}

/** Pages and tabs: what the tables of addresses load later. */
export function routesOf(manifest, entry) {
  const tables = [...reachable(manifest, entry)].flatMap((key) => manifest[key].dynamicImports ?? []);
  return [...new Set(tables)].filter((key) => /(Page|Tab)\.tsx$/.test(key)).sort();
}

/** The entry and what it imports, and the pages' own tabs, which tables of addresses name too. */
function reachable(manifest, entry, seen = new Set()) {
  if (seen.has(entry)) return seen;
  seen.add(entry);
  (manifest[entry]?.imports ?? []).forEach((key) => reachable(manifest, key, seen));
  return seen;
}

/**
 * One line a budget: `{ name, size, limit, detail }`, sizes in bytes.
 *
 * `sizeOf` gives the compressed size of a file, `plan` names the modules of the parts.
 */
export function measure(manifest, sizeOf, plan) {
  const js = (files) => sum([...files].filter((file) => file.endsWith(".js")), sizeOf);
  const without = (files, base) => new Set([...files].filter((file) => !base.has(file)));
  const list = filesOf(manifest, [plan.entry, plan.shell, plan.firstList].filter((key) => key in manifest));
  const routes = routesOf(manifest, plan.entry).map((key) => ({
    key,
    size: js(without(filesOf(manifest, [key]), list)),
  }));
  const largest = routes.reduce((most, each) => (each.size > most.size ? each : most), { key: "none", size: 0 });
  const parts = plan.parts.map(({ name, module, base = [], limit }) => {
    const before = new Set([...list, ...(base.length > 0 ? filesOf(manifest, base) : [])]);
    return { name, size: js(without(filesOf(manifest, [module]), before)), limit, detail: module };
  });
  const all = new Set(Object.values(manifest).flatMap(({ file, css = [], assets = [] }) => [file, ...css, ...assets]));
  const { limits } = plan;
  return [
    { name: "JS: login", size: js(filesOf(manifest, [plan.login])), limit: limits.login, detail: plan.login },
    { name: "JS: shell and first list", size: js(list), limit: limits.firstList, detail: plan.firstList },
    { name: "JS: largest further route", size: largest.size, limit: limits.route, detail: largest.key },
    ...parts,
    { name: "JS: all", size: js(all), limit: limits.allJs, detail: `${routes.length} routes` },
    { name: "CSS: all", size: sum([...all].filter((file) => file.endsWith(".css")), sizeOf), limit: limits.css, detail: "" },
    // The page itself is one more request.
    { name: "Files: first list", size: list.size + 1, limit: limits.files, detail: "", isCount: true },
  ];
}

export function isOver({ size, limit }) {
  return size > limit;
}

/** A line a budget, with what is over marked by a word. */
export function report(lines) {
  const shown = lines.map((line) => {
    const number = (value) => (line.isCount ? String(value) : `${(value / 1000).toFixed(1)} kB`);
    return [line.name, number(line.size), number(line.limit), isOver(line) ? "OVER" : "ok", line.detail];
  });
  const widths = [0, 1, 2, 3].map((at) => Math.max(...shown.map((cells) => cells[at].length)));
  const line = ([name, size, limit, verdict, detail]) =>
    `${name.padEnd(widths[0])}  ${size.padStart(widths[1])}  of ${limit.padStart(widths[2])}  ${verdict.padEnd(widths[3])}  ${detail}`;
  return shown.map((cells) => line(cells).trimEnd()).join("\n");
}

function sum(files, sizeOf) {
  return files.reduce((total, file) => total + sizeOf(file), 0);
}
