// Include order: every #include must go down the table in cmake/layers.txt. With --picture, prints the
// real include graph as mermaid; with --update, writes it into docs/architecture.md.
import {existsSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {allFiles, layerOf, layers, read, report, root} from './repository.mjs';

const rows = layers();

// Folders that `folder` may include from, transitively, and single headers named in rows on the way.
export function visible(folder, table = rows, folders = new Set([folder]), headers = new Set()) {
  for (const seen of table.get(folder) ?? []) {
    if (seen.endsWith('.h')) {
      headers.add(seen);
    } else if (seen.startsWith('=')) {
      folders.add(seen.slice(1));
    } else if (!folders.has(seen)) {
      folders.add(seen);
      visible(seen, table, folders, headers);
    }
  }
  return {folders, headers};
}

// Where an include written in `file` leads, or nothing for a library's header.
function resolve(file, included) {
  const candidates = [
    path.posix.join('src', included),
    path.posix.join('include', included),
    included,
    path.posix.join('tools', included),
    path.posix.join(path.posix.dirname(file), included),
  ];
  return candidates.find((candidate) => existsSync(path.join(root, candidate)));
}

// Every include from one layer's file to another's: {file, line, from, to, target}.
function* includes() {
  for (const file of allFiles()) {
    if (!/\.(cc|h|def|c)$/.test(file)) continue;
    const from = layerOf(file, rows);
    if (!from) continue;
    let number = 0;
    for (const line of read(file).split('\n')) {
      number++;
      const match = /^\s*#\s*include\s*"([^"]+)"/.exec(line);
      const target = match && resolve(file, match[1]);
      const to = target && layerOf(target, rows);
      if (to && to !== from) yield {file, line: number, from, to, target};
    }
  }
}

// A folder of headers that nobody listed would escape the table.
function unlisted() {
  const folders = new Set();
  for (const file of allFiles()) {
    const match = /^(src\/[^/]+)\/.*\.(cc|h)$/.exec(file);
    if (match && !layerOf(file, rows)) folders.add(match[1]);
  }
  return [...folders].map((folder) => `${folder} has no row in cmake/layers.txt`);
}

export function checkLayers() {
  const problems = unlisted();
  for (const {file, line, from, to, target} of includes()) {
    // A test may join layers: it compares what one makes with what another computes.
    if (/_test\.(cc|h)$/.test(file)) continue;
    const {folders, headers} = visible(from);
    if (!folders.has(to) && !headers.has(target)) {
      problems.push(`${file}:${line}: ${from} may not include ${target} (cmake/layers.txt)`);
    }
  }
  return problems;
}

export function picture() {
  const edges = new Map();
  for (const {file, from, to} of includes()) {
    if (/_test\.(cc|h)$/.test(file)) continue;
    edges.set(`${from}\t${to}`, [from, to]);
  }
  const name = (folder) => folder.replace(/^src\//, '');
  const id = (folder) => name(folder).replace(/[^a-z]/g, '_');
  // An edge that follows from two others says nothing more.
  const next = new Map();
  for (const [from, to] of edges.values()) {
    if (!next.has(from)) next.set(from, new Set());
    next.get(from).add(to);
  }
  const reaches = (from, to, seen = new Set()) => {
    for (const step of next.get(from) ?? []) {
      if (seen.has(step)) continue;
      seen.add(step);
      if (step === to || reaches(step, to, seen)) return true;
    }
    return false;
  };
  const shown = [...edges.values()].filter(
    ([from, to]) => ![...next.get(from)].some((step) => step !== to && reaches(step, to)),
  );
  const folders = [...rows.keys()].filter((row) => shown.some((edge) => edge.includes(row)));
  return [
    '```mermaid',
    'flowchart BT',
    ...folders.map((folder) => `  ${id(folder)}["${name(folder)}"]`),
    ...shown.map(([from, to]) => `  ${id(from)} --> ${id(to)}`).sort(),
    '```',
  ].join('\n');
}

const page = 'docs/architecture.md';
const region = /(<!-- layers: ?begin -->\n)[^]*?(<!-- layers: ?end -->)/;

export function checkPicture() {
  if (!existsSync(path.join(root, page))) return [];
  const text = read(page);
  if (!region.test(text)) return [`${page} has no '<!-- layers:begin -->' region`];
  return text.replace(region, `$1${picture()}\n$2`) === text
    ? []
    : [`the picture in ${page} is old: node tools/check/layers.mjs --update`];
}

if (process.argv[1] === import.meta.filename) {
  if (process.argv.includes('--picture')) {
    console.log(picture());
  } else if (process.argv.includes('--update')) {
    writeFileSync(path.join(root, page), read(page).replace(region, `$1${picture()}\n$2`));
  } else {
    process.exit(report('include order', checkLayers()) ? 0 : 1);
  }
}
