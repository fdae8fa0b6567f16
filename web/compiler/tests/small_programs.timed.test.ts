/** How long small programs of new shapes take to compile, in CPU time of a reference loop; web/tests/small_programs.timed.test.ts does so in a page. */
import assert from 'node:assert/strict';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';

import {referenceLoop} from '../../tests/fixtures/reference.ts';
import {Compiler, type Recorded, Recorder} from '../src/index.ts';

const root = join(import.meta.dirname, '../../../../..');
const path = process.env['GOSSAMER_COMPILER_WASM'] ?? join(root, 'build-wasm/compiler.wasm');
const skip = existsSync(path) ? false : 'compiler.wasm is not built (make wasm)';
const wasm = skip ? undefined : new WebAssembly.Module(readFileSync(path));

/** Milliseconds of CPU time that this process took, all threads together. */
const cpu = (): number => {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1000;
};

/**
 * CPU time that a compilation may take, in reference loops: somewhat more than twice what it takes. The least of 60 of each counts: next to
 * other programs most of them also wait for caches, and for V8 to compile compiler.wasm once more, which the loop does not.
 */
const MOST: Readonly<Record<string, number>> = {
  Add: 3, MatMul: 26, Relu: 3, Softmax: 11, ReduceMean: 5, Exp: 3, Transpose: 2.5, Conv: 27, Sigmoid: 3, LayerNormalization: 10,
};

test('small programs compile within their CPU time', {skip}, async () => {
  const recorder = await Recorder.create({wasm});
  using compiler = await Compiler.open({wasm});
  const one = async (op: string, n: number): Promise<number> => {
    const image = op === 'Conv';
    const x = recorder.leaf('f32', image ? [1, n % 7 + 1, 16, 16] : [n, n + 1]);
    const other = {
      Add: [n, n + 1], MatMul: [n + 1, n + 2], Conv: [4, n % 7 + 1, 3, 3], LayerNormalization: [n + 1],
    }[op];
    const inputs = other ? [x, recorder.leaf('f32', other)] : [x];
    const [made] = recorder.record(op, inputs) as [Recorded];
    const start = cpu();
    await compiler.compile(recorder.model(recorder.plan([made.id]).program), {target: 'wasm'});
    return cpu() - start;
  };
  const loops: number[] = [];
  const times = new Map<string, number[]>(Object.keys(MOST).map((op) => [op, []]));
  for (let round = 0; round < 80; ++round) {
    for (const [op, list] of times) {
      const time = await one(op, 8 + round);
      const start = cpu();
      referenceLoop();
      if (round < 20) continue;
      loops.push(cpu() - start);
      list.push(time);
    }
  }
  const loop = Math.min(...loops);
  const ratios = [...times].map(([op, list]) => ({op, ratio: Math.min(...list) / loop, most: MOST[op] ?? 0}));
  console.log(`a loop takes ${loop.toFixed(2)} ms; compilations in loops: ${ratios.map(({op, ratio}) => `${op} ${ratio.toFixed(1)}`).join(', ')}`);
  for (const {op, ratio, most} of ratios) assert.ok(ratio <= most, `${op} takes as long as ${ratio} reference loops, at most ${most} are allowed`);
});
