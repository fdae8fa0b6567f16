import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';

import type * as compiler from '../compiler/src/index.ts';
import {ownOperator} from '../compiler/tests/onnx.ts';
import type {Answer, Case} from './src/protocol.ts';

const root = join(import.meta.dirname, '../../..');
const wasm = join(root, 'compiler/dist/compiler.wasm');
const skip = existsSync(wasm) ? false : 'compiler.wasm is not built (make wasm)';

test('an operator given to the compiler runs on every device', {skip}, async () => {
  // The bundle, as a page has it: sources of the compiler import their worker as text.
  const {compile, float, operator} = (await import(
    join(root, 'compiler/dist/compiler.js')
  )) as typeof compiler;
  const own = operator({
    domain: 'com.example',
    name: 'SquaredSwish',
    inputs: ['x'],
    attributes: {alpha: float(1)},
    define: (call, {x}, {alpha}) =>
      call('Mul', call('Mul', x, x), call('Sigmoid', call('Mul', x, alpha))),
  });
  const folder = mkdtempSync(join(tmpdir(), 'operator-'));
  try {
    const x = Float32Array.of(-1, 0.5, 2, 3, 1, -4, 0, 8);
    writeFileSync(join(folder, 'x.bin'), x);
    const cases: Case[] = [];
    for (const target of ['webgpu', 'webgl', 'wasm'] as const) {
      const files = await compile(ownOperator('SquaredSwish', [2, 4], 3), {
        target,
        wasm: readFileSync(wasm),
        operators: [own],
      });
      const out = join(folder, target);
      mkdirSync(out);
      for (const [name, bytes] of files) writeFileSync(join(out, name), bytes);
      const inputs = [{name: 'x', file: join(folder, 'x.bin'), dtype: 'f32', shape: [2, 4]}] as const;
      cases.push({id: cases.length, package_dir: out, inputs});
    }
    const script = join(root, 'tests/run_cases.mjs');
    const lines = execFileSync(process.execPath, [script, '--out', folder], {
      input: cases.map((each) => JSON.stringify(each)).join('\n'),
      encoding: 'utf8',
    });
    const [, ...answers] = lines.trim().split('\n').map((line) => JSON.parse(line) as Answer);
    assert.equal(answers.length, 3);
    for (const answer of answers) {
      assert.ok(answer.ok, JSON.stringify(answer));
      const bytes = readFileSync(answer.outputs?.[0]?.file ?? '');
      const y = new Float32Array(bytes.buffer, bytes.byteOffset, 8);
      for (const [at, value] of x.entries()) {
        const r = Math.max(value, 0);
        const wanted = -(r * r) / (1 + Math.exp(-3 * r));
        assert.ok(Math.abs(Number(y[at]) - wanted) < 1e-4, `${at}: ${y[at]}, wanted ${wanted}`);
      }
    }
  } finally {
    rmSync(folder, {recursive: true});
  }
});
