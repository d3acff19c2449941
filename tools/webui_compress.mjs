// Writes NAME.gz and NAME.br beside each file of a directory that gets smaller by it.
// Usage: node webui_compress.mjs DIRECTORY; prints the bytes before and after, as JSON.
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

const TEXTS = new Set([
  ".css", ".js", ".json", ".map", ".mjs", ".svg", ".txt", ".wasm", ".webmanifest",
]);
const MIN_BYTES = 1024; // smaller answers fit one packet as they are
const compressors = {
  ".gz": (content) => promisify(gzip)(content, { level: 9 }),
  ".br": (content) =>
    promisify(brotliCompress)(content, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
      },
    }),
};

async function* filesBelow(directory) {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) {
      yield* filesBelow(path);
    } else if (entry.isFile() && TEXTS.has(extname(entry.name))) {
      yield path;
    }
  }
}

async function compress(path) {
  const content = await readFile(path);
  const sizes = { plain: content.length };
  if (content.length < MIN_BYTES) return { ...sizes, ".gz": content.length, ".br": content.length };
  for (const [ending, compressed] of Object.entries(compressors)) {
    const made = await compressed(content);
    sizes[ending] = Math.min(made.length, content.length);
    if (made.length < content.length) await writeFile(path + ending, made);
  }
  return sizes;
}

const directory = process.argv[2];
if (!directory || !(await stat(directory)).isDirectory()) {
  throw new Error(`usage: webui_compress.mjs DIRECTORY, and ${directory} is none`);
}
const total = { files: 0, plain: 0, ".gz": 0, ".br": 0 };
const paths = [];
for await (const path of filesBelow(directory)) paths.push(path);
for (const sizes of await Promise.all(paths.map(compress))) {
  total.files += 1;
  for (const [name, size] of Object.entries(sizes)) total[name] += size;
}
console.log(JSON.stringify(total));
