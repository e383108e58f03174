// What every Node script here does: read the request, write the answer.

import { readFileSync, writeFileSync } from "node:fs";

const request = JSON.parse(readFileSync(process.argv[2], "utf8"));
export const { url, key, query, page } = request;
export const setting = request.way === "setting";

/** A client's results under one set of names; what it doesn't give is left out. */
export function rows(found, title, link, text) {
  const names = Object.entries({ title, link, text }).filter(([, theirs]) => theirs);
  return found.map((row) => Object.fromEntries(names.map(([ours, theirs]) => [ours, row[theirs]])));
}

/** Write what came of the calls, in their order. */
export function answer(name, results) {
  const { version } = JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url), "utf8"));
  writeFileSync(process.argv[3], JSON.stringify({ version, calls: Object.keys(results), results }));
}
