// WebGPU in Node.js by the npm package "webgpu", on the software driver that comes with Chromium.
import {spawnSync} from 'node:child_process';
import {copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {prepared} from './apps.mjs';
import {trouble} from './forms.mjs';
import {install} from './packed.mjs';

const DRIVER = '/usr/lib/chromium/vk_swiftshader_icd.json';

export function dawn(tally, {packed, files, expected}) {
  const run = (folder) =>
    spawnSync(process.execPath, ['main.mjs', files], {cwd: folder, encoding: 'utf8', timeout: 120_000, env: {...process.env, VK_DRIVER_FILES: DRIVER, XDG_CACHE_HOME: path.join(folder, 'cache')}});
  // Without the package, the message says which one.
  const without = mkdtempSync(path.join(os.tmpdir(), 'gossamer-npm-'));
  try {
    install(packed, without);
    copyFileSync(path.join(import.meta.dirname, 'apps/dawn/main.mjs'), path.join(without, 'main.mjs'));
    const {status, stderr} = run(without);
    tally.record('Node.js without the package "webgpu" says so', status === 1 && /webgpu: .*install the npm package "webgpu"/.test(stderr) ? [] : `${status}: ${stderr}`);
  } finally {
    rmSync(without, {recursive: true});
  }
  if (!existsSync(DRIVER)) return tally.skip('Node.js with the package "webgpu"', `there is no software driver at ${DRIVER}`);
  const folder = prepared(tally, 'dawn', packed, files);
  if (!folder) return;
  mkdirSync(path.join(folder, 'cache'), {recursive: true});
  for (const time of ['first', 'second']) {
    const {status, signal, stdout, stderr} = run(folder);
    const line = stdout.split('\n').find((each) => each.startsWith('{'));
    const {location, adapter, ...answer} = line ? JSON.parse(line) : {error: `${signal ?? status}: ${stderr.slice(-600)}`};
    const ended = status === 0 ? undefined : `it ended with ${signal ?? status}`;
    const where = location === 'gpu-buffer' && /swiftshader/i.test(adapter) ? undefined : `the output is at ${location} of ${adapter}`;
    tally.record(`Node.js with the package "webgpu", the ${time} time`, trouble({refused: [], ...answer}, expected) ?? ended ?? where);
  }
}
