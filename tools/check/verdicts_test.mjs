import assert from 'node:assert/strict';
import {existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {after, test} from 'node:test';
import {root} from './repository.mjs';
import {closureOf, hashOf, identityOf, judges, keptVerdicts, readPackages, stateOf} from './verdicts.mjs';

const work = mkdtempSync(path.join(tmpdir(), 'gossamer-identity-'));
after(() => rmSync(work, {recursive: true, force: true}));

const installed = readPackages([
  'browser\t1.2\tinstalled\tlibc (>= 2), libgl | libgles\tweb',
  'libc\t2.36\tinstalled\t\t',
  'mesa\t22.3\tinstalled\tllvm:amd64 (= 15)\tlibgl (= 1), libegl',
  'llvm\t15.0\tinstalled\tlibc\t',
  'apart\t7\tinstalled\tbrowser\t',
  'gone\t3\tconfig-files\t\t',
].join('\n'));

test('packages are taken with all that they depend on', () => {
  assert.deepEqual(closureOf(['llvm'], installed), ['libc 2.36', 'llvm 15.0']);
  assert.deepEqual(closureOf(['browser'], installed), ['browser 1.2', 'libc 2.36', 'llvm 15.0', 'mesa 22.3']);
  assert.deepEqual(closureOf(['apart', 'libc'], installed), ['apart 7', 'browser 1.2', 'libc 2.36', 'llvm 15.0', 'mesa 22.3']);
});

test('what is not installed cannot be described', () => {
  assert.equal(closureOf(['gone'], installed), undefined);
  assert.equal(closureOf(['libc', 'nowhere'], installed), undefined);
});

test('hashes tell values and their borders apart', () => {
  assert.equal(hashOf('a', {b: 1}), hashOf('a', {b: 1}));
  const all = [[], ['ab'], ['a', 'b'], ['', 'ab'], ['ab', ''], [Buffer.from('ab')], [['a', 'b']], [undefined]];
  assert.equal(new Set(all.map((values) => hashOf(...values))).size, all.length);
});

test('the state of a file follows its size and time', () => {
  const file = path.join(work, 'file');
  assert.equal(stateOf(file), 'absent');
  writeFileSync(file, 'four');
  const first = stateOf(file);
  assert.match(first, /^4 \d{19}$/);
  utimesSync(file, new Date(), new Date(Date.now() + 5000));
  assert.notEqual(stateOf(file), first);
});

test('sources that decide verdicts are part of the judge, other commands are not', () => {
  for (const name of ['judge/judge', 'judge/compare', 'judge/sample_file', 'judge/traits', 'runners/native_runner', 'devices/web_cases', 'files/tensor_file', 'commands/test_command', 'judge/kept_verdicts']) {
    assert.ok(existsSync(path.join(root, `tools/gossamer/${name}.cc`)), name);
    assert.ok(judges(`${name}.cc`), name);
  }
  for (const name of ['commands/compile_command', 'devices/tune_fleet', 'devices/rpc_device', 'files/exif', 'main']) assert.ok(!judges(`${name}.cc`), name);
});

test('nothing is kept where all cases are to run, or without a build', async () => {
  assert.deepEqual(await keptVerdicts({all: true, build: path.join(root, 'build')}), {});
  assert.deepEqual(await keptVerdicts({build: work}), {});
  assert.ok(!existsSync(path.join(work, 'verdicts')));
});

const build = path.join(root, process.env.GOSSAMER_BUILD ?? 'build');
const built = existsSync(path.join(build, 'gossamer')) && existsSync(path.join(build, 'lib/libgossamer_runtime.so'));

test('a build has one identity, which changes with what it is made of', {skip: !built && 'not built'}, async () => {
  const identity = await identityOf(build);
  assert.deepEqual(await identityOf(build), identity);
  assert.equal(identity.program, path.join(build, 'gossamer'));
  assert.equal(identity.files[identity.program], stateOf(identity.program));
  assert.equal(statSync(identity.program).size, Number(identity.files[identity.program].split(' ')[0]));
  assert.match(identity.machine_code, /^[0-9a-f]{64}$/);
  assert.ok(Object.keys(identity.files).some((file) => file.endsWith('libgossamer_codegen_llvm.a')));
  const {cpu, opencl} = identity.native.devices;
  assert.match(cpu, /^[0-9a-f]{64}$/);
  assert.notEqual(cpu, opencl);
  process.env.LD_LIBRARY_PATH = '/nowhere';
  try {
    assert.equal((await identityOf(build)).environment.LD_LIBRARY_PATH, '/nowhere');
  } finally {
    delete process.env.LD_LIBRARY_PATH;
  }
});

test('the list of files has the page and the program that drive browsers', {skip: !built && 'not built'}, async () => {
  const {web} = await identityOf(build);
  if (Object.keys(web.devices).length === 0) return;
  for (const name of ['web/tests/run_cases.mjs', 'web/tests/src/harness.ts', 'web/runtime/src/index.ts', 'web/rpc/src/job.ts'])
    assert.equal(web.files[path.join(root, name)], stateOf(path.join(root, name)), name);
  assert.ok(readFileSync(path.join(root, 'web/tests/run_cases.mjs'), 'utf8').includes('src/case_page.ts'));
});
