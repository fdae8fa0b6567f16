// noGrad() of an async function where the platform tells nothing of async functions, as in browsers of today.
import assert from 'node:assert/strict';
import {test} from 'node:test';

Object.defineProperty(process, 'getBuiltinModule', {value: undefined});
const {nn, noGrad} = await import('../src/index.ts');
const {skip} = await import('./start.ts');

const traces = (): boolean => new nn.Parameter([1]).mul(2).requiresGrad;

test('the mode is carried over awaits of elements', {skip}, async () => {
  const x = new nn.Parameter([1, 2]);
  const found: [string, boolean][] = [];
  const read = async (name: string): Promise<void> => {
    for (let round = 0; round < 3; ++round) {
      await (round === 1 ? x.mul(round).array() : round === 0 ? x.data() : x.sum().item());
      found.push([name, traces()]);
    }
  };
  const quiet = noGrad(() => read('quiet'));
  const loud = read('loud');
  assert.equal(traces(), true);
  await x.add(1).data();
  assert.equal(traces(), true);
  await Promise.all([quiet, loud, noGrad(() => read('quiet'))]);
  assert.equal(found.length, 9);
  for (const [name, on] of found) assert.equal(on, name === 'loud', name);
  assert.deepEqual(await Promise.race([noGrad(() => x.data()), new Promise(() => undefined)]), Float32Array.of(1, 2));
  assert.equal(traces(), true);
});
