// The bundle that is published, as a user's script has it: errors begin at the user's line, and none shows a screen of script.
import assert from 'node:assert/strict';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

import type * as Api from '../src/index.ts';

const dist = join(import.meta.dirname, '../../../dist');
const skip = existsSync(join(dist, 'compiler.wasm')) ? false : 'the tensor API is not built with compiler.wasm (make web)';
const bundle = async (): Promise<typeof Api> => (await import(pathToFileURL(join(dist, 'tensor.js')).href)) as typeof Api;

/** The first place in a stack. */
const first = (problem: unknown): string => ((problem as Error).stack ?? '').split('\n').find((line) => /:\d+:\d+\)?$/.test(line)) ?? '';

test('errors begin at the line of the user\'s code', {skip}, async () => {
  const {detectAnomaly, nn, Tensor} = await bundle();
  const [a, b] = [new Tensor([[1, 2]]), new Tensor([[1, 2, 3]])];
  const calls: [() => unknown, RegExp][] = [
    [() => a.matmul(b), /MatMul\(f32 \[1, 2\], f32 \[1, 3\]\)/],
    [() => a.reshape(3), /reshape: 2 elements do not make the shape \[3\]/],
    [() => nn.functional.crossEntropy(a, b), /crossEntropy: the input has shape \[1, 2\], the target \[1, 3\]/],
    [() => new nn.Sequential(new nn.Linear(3, 1), new nn.Tanh()).forward(a), /linear: shape \[1, 2\]/],
    [() => a.backward(), /nothing that this was computed from requires a gradient/],
  ];
  for (const [call, message] of calls) {
    assert.throws(call, (problem: Error) => {
      assert.match(problem.message, message);
      assert.match(first(problem), /published\.test/, problem.stack);
      return true;
    });
  }
  detectAnomaly();
  const loss = nn.functional.binaryCrossEntropy(new Tensor([2]), new Tensor([1]));
  detectAnomaly(false);
  await assert.rejects(loss.item(), (problem: Error) => {
    assert.match(problem.message, /Log\(\[1\]\) gave NaN/);
    assert.match(first(problem), /published\.test/, problem.stack);
    return true;
  });
});

test('no line is a screen long', {skip}, () => {
  for (const name of readdirSync(dist).filter((each) => each.endsWith('.js'))) {
    // What is in one string, as workers' scripts are, cannot be broken.
    const lines = readFileSync(join(dist, name), 'utf8').split('\n').filter((line) => !/["'`].{1000,}["'`]/.test(line));
    assert.ok(lines.every((line) => line.length < 1500), `${name}: ${Math.max(...lines.map((line) => line.length))} characters`);
  }
});

test('what is too large is an error, and what comes after it works', {skip}, async () => {
  const {Tensor} = await bundle();
  const one = new Tensor([1]);
  const large = [1, 2].map((value) => one.expand(24000, 24000).add(value));
  await assert.rejects(Promise.all(large.map((each) => each.data())), (problem: Api.GossamerError) => {
    assert.equal(problem.code, 'out-of-memory');
    assert.match(problem.message, /4\.6 GB.*toDevice/);
    return true;
  });
  assert.deepEqual(await one.expand(2, 2).add(1).array(), [[2, 2], [2, 2]]);
});
