// Packages that were stored once (make.mjs) are read by today's run times: on the web's three targets in Chromium, on wasm in Node, and natively.
//
//   node tests/stored_packages/suite.mjs
import {spawnSync} from 'node:child_process';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {startBrowser} from '../../tools/demo/browser.mjs';
import {npyOf} from '../cli/models.mjs';
import {asked, serve} from '../npm/forms.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const versions = readdirSync(import.meta.dirname).flatMap((name) => /^version_(\d+)$/.exec(name)?.[1] ?? []).map(Number);
const work = mkdtempSync(path.join(os.tmpdir(), 'stored-packages-'));
const tally = new Tally();

/** What is wrong with outputs, against case.json. */
function trouble({y, where, all}, expected) {
  const far = (values, wanted = []) => values.length !== wanted.length || !(Math.max(...wanted.map((value, at) => Math.abs(value - values[at]))) < 1e-5);
  if (far(y, expected.y)) return `y is ${y}`;
  if (expected.all) return far(all, expected.all) ? `all is ${all}` : undefined;
  return where.join() === expected.where.join() ? undefined : `where is ${where}`;
}

/** In the page and in Node: what a run of a package gives. */
async function answer(run, from, device, {x, xShape, past, pastShape}) {
  const model = await run.load(from, {device});
  try {
    const before = past && {past: run.tensor(Float32Array.from(past), pastShape)};
    const {y, where, all} = await model.run({x: run.tensor(Float32Array.from(x), xShape), ...before});
    const rest = all ? {all: Array.from(await all.data())} : {where: Array.from(await where.data(), Number)};
    return {y: Array.from(await y.data()), ...rest};
  } finally {
    model.dispose();
  }
}

/** The elements of an .npy file, behind its header. */
function elementsOf(file, array) {
  const bytes = readFileSync(file);
  return Array.from(new array(bytes.buffer.slice(bytes.byteOffset + 10 + bytes.readUInt16LE(8), bytes.byteOffset + bytes.length)), Number);
}

function natively(folder, {x, xShape, past, pastShape}) {
  const feed = (name, shape, data) => {
    const file = path.join(work, `${name}.npy`);
    writeFileSync(file, npyOf('<f4', shape, Buffer.from(Float32Array.from(data).buffer)));
    return ['--input', `${name}=${file}`];
  };
  const feeds = [...feed('x', xShape, x), ...(past ? feed('past', pastShape, past) : [])];
  const {status, stderr} = spawnSync(gossamer, ['run', path.join(folder, 'cpu'), ...feeds, '--save', work], {encoding: 'utf8', timeout: 240_000});
  if (status !== 0) throw new Error(stderr);
  const of = (name, array) => elementsOf(path.join(work, `${name}.npy`), array);
  return {y: of('y', Float32Array), ...(past ? {all: of('all', Float32Array)} : {where: of('where', BigInt64Array)})};
}

const PAGE = `<!doctype html><script type="module">
import * as run from '/lib/runtime.js';
const answer = ${answer};
globalThis.use = ({from, device, given}) => answer(run, from, device, given).catch((problem) => ({error: String(problem)}));
</script>`;

const record = (name, answered, expected) => tally.record(name, answered.error ?? trouble(answered, expected));

// Both say which versions they read; each has a stored one.
const [, newest, oldest] = /format_version = (\d+), oldest_version = (\d+)/.exec(readFileSync(path.join(root, 'src/package/package.h'), 'utf8')).map(Number);
const known = Array.from({length: newest - oldest + 1}, (_, at) => oldest + at);
const onWeb = JSON.parse(/VERSIONS: readonly unknown\[\] = (\[.*\])/.exec(readFileSync(path.join(root, 'web/runtime/src/package/manifest.ts'), 'utf8'))[1]);
tally.record('both run times know the same versions, all of them stored', onWeb.join() === known.join() && versions.sort().join() === known.join() ? [] : `${onWeb} and ${known}; stored: ${versions}`);

const lib = path.join(root, 'web/runtime/dist');
const runtime = await import(pathToFileURL(path.join(lib, 'runtime.js')).href);
writeFileSync(path.join(work, 'index.html'), PAGE);
const server = await serve(work, import.meta.dirname, {also: {lib}});
const browser = await startBrowser();
try {
  for (const version of versions) {
    const folder = path.join(import.meta.dirname, `version_${version}`);
    const expected = JSON.parse(readFileSync(path.join(folder, 'case.json'), 'utf8'));
    for (const device of ['webgpu', 'webgl', 'wasm']) {
      const from = `/files/version_${version}/web/`;
      record(`version ${version} on ${device}`, await asked(browser, `${server.address}app/`, 'use', {from, device, given: expected}), expected);
    }
    record(`version ${version} in Node`, await answer(runtime, pathToFileURL(path.join(folder, 'web/')), 'wasm', expected), expected);
    if (os.arch() !== 'x64' || os.platform() !== 'linux') tally.skip(`version ${version} natively`, 'its machine code is for Linux on x86-64');
    else if (!existsSync(gossamer)) tally.skip(`version ${version} natively`, 'gossamer is not built');
    else record(`version ${version} natively`, natively(folder, expected), expected);
  }
} catch (problem) {
  tally.record('the suite', problem.stack);
} finally {
  await browser.close();
  server.close();
  rmSync(work, {recursive: true});
}
tally.end();
