// The folder that travels: nothing in it reaches outside, and its server serves nothing else.
import assert from 'node:assert/strict';
import {existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join, resolve} from 'node:path';
import test from 'node:test';
import {comparisonsOf} from '../lib/job.mjs';
import {layout} from '../lib/layout.mjs';
import {fileOf, serve} from '../lib/server.mjs';
import {PEERS, writePack} from '../pack.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'gossamer-pack-test-'));
test.after(() => rmSync(scratch, {recursive: true}));

function put(file, text = 'x') {
  mkdirSync(dirname(file), {recursive: true});
  writeFileSync(file, text);
}

/** A pack of this checkout's page with stand-ins for what is built or installed. */
function pack() {
  const out = join(scratch, 'pack');
  const built = join(scratch, 'built');
  for (const name of ['runtime.js', 'runtime.iife.js', 'webgpu-1.js']) put(join(built, name));
  for (const name of PEERS) put(join(scratch, 'peers', name));
  const from = {...layout(), peers: join(scratch, 'peers'), 'now/runtime': built, 'now/compiler': built};
  writePack(out, from);
  return out;
}

const filesIn = (folder) => readdirSync(folder, {recursive: true}).map((name) => join(folder, name)).filter((file) => statSync(file).isFile());

test('every module of the pack imports only what the pack holds, and Node.js', () => {
  const out = pack();
  for (const file of filesIn(join(out, 'bench')).concat(join(out, 'run.mjs')).filter((name) => name.endsWith('.mjs'))) {
    for (const [, name] of readFileSync(file, 'utf8').matchAll(/^(?:import|export)[^;]*? from '([^']+)';/gm)) {
      if (name.startsWith('node:')) continue;
      const target = resolve(dirname(file), name);
      assert.ok(existsSync(target) && target.startsWith(out), `${file} imports ${name}`);
    }
  }
});

test('the pack has what its page fetches, and not what it does not', () => {
  const out = pack();
  for (const name of ['index.html', 'run.mjs', 'bench/page/index.html', 'bench/page/style.css', 'now/runtime/runtime.js', 'now/runtime/webgpu-1.js', ...PEERS.map((each) => `peers/${each}`)]) {
    assert.ok(existsSync(join(out, name)), name);
  }
  assert.ok(!existsSync(join(out, 'now/runtime/runtime.iife.js')));
  assert.ok(!existsSync(join(out, 'before')));
});

test('pages import nothing of Node.js', () => {
  const seen = new Set();
  const visit = (file) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, name] of readFileSync(file, 'utf8').matchAll(/^(?:import|export)[^;]*? from '([^']+)';/gm)) {
      assert.ok(name.startsWith('.'), `${file} imports ${name}`);
      visit(resolve(dirname(file), name));
    }
  };
  const page = resolve(import.meta.dirname, '../page');
  for (const file of filesIn(page).filter((name) => name.endsWith('.mjs'))) visit(file);
});

test('the server answers what it is told to, and serves its folders, with threads allowed', async () => {
  put(join(scratch, 'served/a.wasm'), 'abc');
  const server = await serve({'x/y': join(scratch, 'served')}, {'/sum': ({a, b}) => a + b, '/bad': () => assert.fail('why')});
  try {
    const post = async (path, body) => (await fetch(server.origin + path, {method: 'POST', body: JSON.stringify(body)})).json();
    assert.equal(await post('/sum', {a: 2, b: 3}), 5);
    assert.deepEqual(await post('/bad', {}), {error: 'why'});
    const found = await fetch(`${server.origin}/x/y/a.wasm`);
    assert.equal(await found.text(), 'abc');
    assert.equal(found.headers.get('content-type'), 'application/wasm');
    assert.equal(found.headers.get('cross-origin-opener-policy'), 'same-origin');
    assert.equal((await fetch(`${server.origin}/x/y/b`)).status, 404);
    assert.equal((await fetch(`${server.origin}/x`)).status, 404);
  } finally {
    server.close();
  }
});

test('nothing outside the folders is served', () => {
  const folders = {web: '/srv/web'};
  assert.equal(fileOf(folders, '/web/a/b'), '/srv/web/a/b');
  assert.equal(fileOf(folders, '/web/../secret'), undefined);
  assert.equal(fileOf(folders, '/web/..%2f..%2fetc/passwd'), undefined);
  assert.equal(fileOf({'': '/srv'}, '/../../etc/passwd'), '/srv/etc/passwd');
});

test('comparisons: threads only where there are any, unknown models are refused', () => {
  const all = comparisonsOf({devices: ['wasm', 'webgpu'], names: ['resnet18'], without: ['before'], threads: [1, 2]});
  assert.deepEqual(all.map(({device, threads}) => `${device} ${threads}`), ['wasm 1', 'wasm 2', 'webgpu 1']);
  assert.ok(all.every(({parties}) => parties[0] === 'gossamer' && !parties.includes('before')));
  assert.throws(() => comparisonsOf({devices: ['wasm'], names: ['resnet19']}), /no model "resnet19"; there are resnet18/);
  assert.throws(() => comparisonsOf({devices: ['wasm'], parts: ['model']}), /no part "model"; there are models, matmul, kernels, training, decoding, growth/);
  const more = comparisonsOf({devices: ['cpu'], parts: ['matmul', 'growth'], threads: [1, 2]});
  assert.ok(more.some(({model, threads}) => model === 'matmul512' && threads === 2));
  assert.ok(!more.some(({model, threads}) => model === 'cumsum_10000' && threads === 2));
  assert.ok(comparisonsOf({devices: ['cpu'], names: ['resnet18'], threads: [1, 2]}).every(({threads, parties}) => parties.includes('tvm') === (threads === 1)));
});
