// The published bundles in JavaScript runtimes other than Node and browsers: Deno and Bun, from the npm registry
// (tools/setup/runtimes.sh). What each does is in use.mjs; where one cannot be installed that is said and skipped.
import {execFileSync, spawnSync} from 'node:child_process';
import {existsSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {Tally} from '../tally.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const SECONDS = 120;
const tally = new Tally();

const RUNTIMES = {
  node: {program: () => process.execPath, before: []},
  deno: {program: (folder) => path.join(folder, 'deno'), before: ['run', '--allow-read', '--allow-env', '--no-lock', '--no-config']},
  bun: {program: (folder) => path.join(folder, 'bun'), before: ['run']},
};

let reason;
if (!existsSync(path.join(root, 'web/tensor/dist/compiler.wasm'))) reason = 'the tensor API is not built with compiler.wasm (make web)';
else {
  try {
    execFileSync(path.join(root, 'tools/setup/runtimes.sh'), {stdio: ['ignore', 'ignore', 'pipe']});
  } catch (problem) {
    reason = `it cannot be installed here: ${String(problem.stderr).trim().split('\n').at(-1)}`;
  }
}

for (const [name, {program, before}] of Object.entries(RUNTIMES)) {
  const found = program(path.join(root, 'third_party/cache/runtimes/node_modules/.bin'));
  const lacking = reason && (name !== 'node' || /built/.test(reason)) ? reason : existsSync(found) ? undefined : `${found} is not there`;
  if (lacking) {
    tally.skip(name, lacking);
    continue;
  }
  const {status, stdout, stderr, error} = spawnSync(found, [...before, path.join(root, 'tests/runtimes/use.mjs')], {
    encoding: 'utf8',
    timeout: SECONDS * 1000,
    env: {...process.env, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1'},
  });
  const said = `${error ?? ''}${stdout}${stderr}`.trim();
  tally.record(name, status === 0 && stdout.trim().endsWith('all right') ? undefined : said.split('\n').slice(-8).join(' | ').slice(0, 800));
}
tally.end();
