// The packed packages in Node, Deno and Bun, of which the last two come from the npm registry
// (tools/setup/runtimes.sh). What each does is in use.mjs; where one cannot be installed that is said and skipped.
import {execFileSync, spawnSync} from 'node:child_process';
import {copyFileSync, existsSync, mkdtempSync, rmSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {writeTinyModel} from '../llm/tiny_model.mjs';
import {install, pack} from '../npm/packed.mjs';
import {Tally} from '../tally.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const SECONDS = 120;
const tally = new Tally();

const RUNTIMES = {
  node: {program: () => process.execPath, before: []},
  deno: {program: (folder) => path.join(folder, 'deno'), before: ['run', '--allow-read', '--allow-env', '--no-lock']},
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

const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-runtimes-'));
const app = path.join(work, 'app');
if (!/built/.test(reason ?? '')) {
  install(pack(['runtime', 'compiler', 'tensor', 'llm'], path.join(work, 'packed')), app);
  copyFileSync(path.join(root, 'tests/runtimes/use.mjs'), path.join(app, 'use.mjs'));
  writeTinyModel(path.join(app, 'tiny'));
}

for (const [name, {program, before}] of Object.entries(RUNTIMES)) {
  const found = program(path.join(root, 'third_party/cache/runtimes/node_modules/.bin'));
  const lacking = reason && (name !== 'node' || /built/.test(reason)) ? reason : existsSync(found) ? undefined : `${found} is not there`;
  if (lacking) {
    tally.skip(name, lacking);
    continue;
  }
  const {status, stdout, stderr, error} = spawnSync(found, [...before, 'use.mjs'], {
    cwd: app,
    encoding: 'utf8',
    timeout: SECONDS * 1000,
    env: {...process.env, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1'},
  });
  const said = `${error ?? ''}${stdout}${stderr}`.trim();
  tally.record(name, status === 0 && stdout.trim().endsWith('all right') ? undefined : said.split('\n').slice(-8).join(' | ').slice(0, 800));
}
rmSync(work, {recursive: true});
tally.end();
