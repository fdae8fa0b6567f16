// Pages that `gossamer compile` writes, used as people use them: in Chromium, by their controls, against what the
// command line answers to the same files.
//
//   node tests/pages/suite.mjs
import {spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {startBrowser} from '../../tools/demo/browser.mjs';
import {serve} from '../../tools/demo/serve.mjs';
import {model} from '../cli/models.mjs';
import {Tally} from '../tally.mjs';
import {forms} from './forms.mjs';
import {preprocessing} from './preprocessing.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const gossamer = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build', 'gossamer');
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-pages-'));
const sites = path.join(work, 'sites');
mkdirSync(sites);

const run = (args) => spawnSync(gossamer, args, {cwd: work, encoding: 'utf8', timeout: 240_000});
const {server, address} = await serve(sites);

/** Compiles {name, graph} and its page; gives the page's address and the model's file. */
function site({name, graph}, options = []) {
  const file = path.join(work, `${name}.onnx`);
  writeFileSync(file, model(graph));
  const {status, stderr} = run(['compile', file, '--target', 'wasm', '--emit', 'page', '-o', path.join(sites, name), ...options]);
  if (status !== 0) throw new Error(stderr);
  return {address: `${address}${name}/`, file};
}

const tally = new Tally();
const browser = await startBrowser();
try {
  const place = {browser, site, run, work};
  await forms(tally, place);
  await preprocessing(tally, place);
} catch (problem) {
  tally.record('the suite', problem.stack);
} finally {
  await browser.close();
  server.close();
  rmSync(work, {recursive: true});
}
tally.end();
