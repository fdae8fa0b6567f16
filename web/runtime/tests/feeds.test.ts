import assert from 'node:assert/strict';
import {test} from 'node:test';

import {addFeeds} from '../../tests/browser/feeds.ts';
import {tinyPackage, withManifest} from '../../tests/fixtures/tiny.ts';
import {load} from '../src/index.ts';

const shared = new Map<string, () => Promise<void>>();
addFeeds(shared, ['wasm']);
for (const [name, body] of shared) test(name, body);

test('strings are taken at the call', async () => {
  const port = (name: string, dtype: string, shape: number[], at: number) => ({name, dtype, shape, tensor: at});
  const slot = (bytes: number) => ({bytes});
  const ports = [{...port('words', 'u8', [2, 8], 0), strings: true}, port('words.lengths', 'i32', [2], 1)];
  const files = withManifest(await tinyPackage('wasm', {n: 4}), (manifest) => {
    const tensors = ports.map(({name, dtype, shape, tensor: at}) => ({
      name, dtype, storage: dtype, elements: shape.reduce((all, each) => all * each), slot: at,
    }));
    Object.assign(manifest, {
      inputs: ports, outputs: ports, tensors, slots: [slot(16), slot(8)],
      weights: [], kernels: [], init: [], run: [], dims: [],
    });
  });
  using model = await load(files);
  const feed = {data: ['one', 'two'], shape: [2], dtype: 'string' as const};
  const runs = [0, 1, 2].map((turn) => {
    feed.data[1] = `no. ${turn}`;
    const run = model.run({words: feed});
    feed.data.fill('spoilt');
    feed.data[0] = 'one';
    return run;
  });
  for (const [turn, run] of runs.entries()) {
    assert.deepEqual(await (await run)['words']?.data<string[]>(), ['one', `no. ${turn}`]);
  }
});
