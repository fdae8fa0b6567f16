// No file includes or imports itself through others: circles of headers of the C++ sources, and of the TypeScript
// sources of web/, where types count like values.
import {dirname, posix} from 'node:path';
import {allFiles, read, report} from './repository.mjs';

const cpp = /^(src|runtime|tools\/gossamer)\/.*\.(h|cc|def)$/;
const typescript = /^web\/(?!.*node_modules).*\.ts$/;

// file → the files that it names, of those there are. `texts`: path → content.
export function namedBy(texts) {
  const edges = new Map();
  for (const [file, text] of texts) {
    const named = cpp.test(file)
      ? [...text.matchAll(/^\s*#include "([^"]+)"/gm)].flatMap(([, path]) => [`src/${path}`, path, `tools/${path}`])
      : [...text.matchAll(/^(?:import|export)\b[^'";]*?(?:from\s+)?'(\.[^']+)'/gm)].map(([, path]) => posix.join(dirname(file), path));
    edges.set(file, named.filter((path) => texts.has(path)));
  }
  return edges;
}

// One circle for each import that closes one, as 'a -> b -> a'.
export function circles(edges) {
  const found = [];
  const done = new Set();
  const open = [];
  const visit = (file) => {
    const at = open.indexOf(file);
    if (at >= 0) found.push([...open.slice(at), file].join(' -> '));
    if (at >= 0 || done.has(file)) return;
    open.push(file);
    for (const named of edges.get(file) ?? []) visit(named);
    open.pop();
    done.add(file);
  };
  for (const file of edges.keys()) visit(file);
  return found;
}

export const sources = () =>
  new Map(allFiles().filter((file) => cpp.test(file) || typescript.test(file)).map((file) => [file, read(file)]));

export const checkCircles = () => circles(namedBy(sources())).map((circle) => `${circle}: a circle`);

if (process.argv[1] === import.meta.filename) {
  process.exit(report('no include circles', checkCircles()) ? 0 : 1);
}
