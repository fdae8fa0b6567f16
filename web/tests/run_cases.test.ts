import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';

import type {Answer, Case} from './src/protocol.ts';
import {readNpyHeader} from '../runtime/page/npy.ts';
import {tinyPackage} from './fixtures/tiny.ts';

const root = join(import.meta.dirname, '../..');

interface Run {
  readonly lines: Record<string, unknown>[];
  readonly status: number | null;
  /** Output files by line and output, read before the program ended. */
  readonly files: Map<string, Buffer>;
}

/** Feeds the cases and reads each answer's files as it comes. */
function runCases(cases: readonly (Case | string)[], args: readonly string[] = []): Promise<Run> {
  const child = spawn(process.execPath, [join(root, 'run_cases.mjs'), ...args]);
  const lines: Record<string, unknown>[] = [];
  const files = new Map<string, Buffer>();
  let rest = '';
  child.stderr.pipe(process.stderr);
  child.stdout.on('data', (piece: Buffer) => {
    rest += piece.toString();
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      const line = JSON.parse(rest.slice(0, end)) as Record<string, unknown>;
      rest = rest.slice(end + 1);
      lines.push(line);
      for (const {name, file} of (line as unknown as Answer).outputs ?? []) {
        files.set(`${String(line['id'])} ${name}`, readFileSync(file));
      }
      if (lines.length > cases.length) child.stdin.end();
    }
  });
  for (const each of cases) {
    child.stdin.write(`${typeof each === 'string' ? each : JSON.stringify(each)}\n`);
  }
  return new Promise((resolve) => {
    child.on('close', (status) => resolve({lines, status, files}));
  });
}

const npy = (values: Float32Array, shape: string): Buffer => {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape}), }`.padEnd(117) + '\n';
  const head = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length, 0]);
  return Buffer.concat([head, Buffer.from(header), Buffer.from(values.buffer)]);
};

test('cases go in as lines and come out as lines', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cases-'));
  try {
    writeFileSync(join(folder, 'x.npy'), npy(Float32Array.of(0, 1, 2, 3), '1, 4'));
    writeFileSync(join(folder, 'k.bin'), Buffer.from(BigInt64Array.of(5n, -1n).buffer));
    const inputs: Case['inputs'] = [
      {name: 'x', file: join(folder, 'x.npy')},
      {name: 'k', file: join(folder, 'k.bin'), dtype: 'i64', shape: [2]},
    ];
    const cases: (Case | string)[] = [];
    for (const kind of ['webgpu', 'webgl', 'wasm'] as const) {
      const package_dir = join(folder, kind);
      mkdirSync(package_dir);
      for (const [name, bytes] of await tinyPackage(kind, {n: 4})) {
        writeFileSync(join(package_dir, name), bytes);
      }
      cases.push({id: kind, package_dir, inputs, options: {runs: 3, strict: true}});
    }
    const package_dir = join(folder, 'wasm');
    cases.push({id: 'no input', package_dir, inputs: inputs.slice(0, 1)});
    cases.push({id: 'no package', package_dir: join(folder, 'gone'), inputs});
    cases.push({id: 'no file', package_dir, inputs: [{name: 'x', file: join(folder, 'y.npy')}]});
    cases.push({id: 'too slow', package_dir, inputs, options: {timeout_s: 0.001}});
    cases.push({id: 'after it', package_dir, inputs});
    cases.push('{this is no JSON');
    const {lines, status, files} = await runCases(cases);
    assert.equal(status, 0);
    assert.equal(lines[0]?.['ready'], true);
    for (const kind of ['webgpu', 'webgl', 'wasm']) {
      const line = lines.find(({id}) => id === kind) as unknown as Answer;
      assert.equal(line.error, undefined);
      assert.deepEqual(line.outputs?.map(({name, dtype, shape}) => ({name, dtype, shape})), [
        {name: 'y', dtype: 'f32', shape: [1, 4]},
        {name: 'm', dtype: 'i64', shape: [2]},
      ]);
      assert.equal(line.report?.device, kind);
      assert.ok((line.ms ?? 0) > 0);
      const y = files.get(`${kind} y`);
      assert.deepEqual(y, Buffer.from(Float32Array.of(3, 8, 13, 18).buffer));
      assert.deepEqual(files.get(`${kind} m`), Buffer.from(BigInt64Array.of(6n, 0n).buffer));
    }
    const errorOf = (id: string): string => String(lines.find((line) => line['id'] === id)?.['error']);
    assert.match(errorOf('no input'), /input "k" is missing/);
    assert.match(errorOf('no package'), /manifest\.json/);
    assert.match(errorOf('no file'), /ENOENT.*y\.npy/);
    assert.match(errorOf('too slow'), /no answer within 0\.001 s/);
    assert.equal(errorOf('after it'), 'undefined');
    assert.match(String(lines.at(-1)?.['error']), /not a JSON line/);
  } finally {
    rmSync(folder, {recursive: true});
  }
});

test('headers of .npy files', () => {
  const header = readNpyHeader(npy(new Float32Array(4), '4,'), 'x.npy');
  assert.deepEqual(header, {dtype: 'f32', shape: [4], columnMajor: false, offset: 128});
  assert.deepEqual(readNpyHeader(npy(new Float32Array(1), ''), 'x.npy').shape, []);
  assert.throws(() => readNpyHeader(Buffer.alloc(20), 'x.npy'), /x\.npy: not an \.npy file/);
});
