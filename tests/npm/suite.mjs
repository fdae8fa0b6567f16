// The packages as users have them: packed by npm, installed from the packed files.
//
//   node tests/npm/suite.mjs [--all] [--only vite,astro]
//
// --all: with all bundlers and frameworks, which take 1 GB of third_party/cache. --only: nothing but applications of these.
import {execFileSync} from 'node:child_process';
import {copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {Tally} from '../tally.mjs';
import {bundlers} from './bundlers.mjs';
import {command} from './command.mjs';
import {contents, declarations, oneScript} from './contents.mjs';
import {dawn} from './dawn.mjs';
import {forms, formsFolder, lastFloats} from './forms.mjs';
import {joins} from './joins.mjs';
import {install, pack, packNeeded, WORKSPACES} from './packed.mjs';

const {values: options} = parseArgs({options: {all: {type: 'boolean'}, only: {type: 'string'}}});
const only = options.only?.split(',');
const root = path.resolve(import.meta.dirname, '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const digits = path.join(root, 'examples/digits');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-npm-'));
const app = path.join(work, 'app');
const files = path.join(work, 'files');
const tally = new Tally();
try {
  const packed = pack(WORKSPACES, path.join(work, 'packed'));
  install([...packed, packNeeded('ws', path.join(work, 'needed'))], app);
  if (!only) {
    contents(tally, app);
    declarations(tally, app);
    oneScript(tally, app);
    await joins(tally, {app, gossamer});
    command(tally, {app, digits});
  }

  cpSync(formsFolder, app, {recursive: true});
  mkdirSync(files);
  copyFileSync(path.join(digits, 'model.onnx'), path.join(files, 'digits.onnx'));
  writeFileSync(path.join(files, 'image'), lastFloats(path.join(digits, 'test_data_set_0/input_0.pb'), 784));
  for (const target of ['webgpu', 'wasm']) {
    execFileSync(gossamer, ['compile', path.join(digits, 'model.onnx'), '--target', target, '--emit', 'package', '-o', path.join(files, target)], {stdio: 'ignore'});
  }
  const expected = Array.from(lastFloats(path.join(digits, 'test_data_set_0/output_0.pb'), 10));
  if (!only) await forms(tally, {app, files, expected});
  // Applications bundle no programs.
  const bundled = packed.filter((file) => !/gossamer-(rpc|cli)/.test(file));
  if (!only || only.includes('dawn')) dawn(tally, {packed: bundled, files, expected});
  await bundlers(tally, {packed: bundled, files, expected, all: options.all, only});
} catch (problem) {
  tally.record('the suite', problem.stack + (problem.stderr ?? ''));
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
