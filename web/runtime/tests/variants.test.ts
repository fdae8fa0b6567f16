import assert from 'node:assert/strict';
import {test} from 'node:test';

import {forAdapter, type LaunchEntry, type Manifest} from '../src/package/manifest.ts';

const launch = (kernel: number, hardware?: LaunchEntry['hardware']): LaunchEntry => ({
  kernel, tensors: [0, 1], scalars: [], range: 8, ...(hardware && {hardware}), operations: 0, origin: '', reason: '',
});
const manifest = {
  files: [],
  kernels: ['pack', 'small', 'tiles'].map((name) => ({name})),
  init: [launch(0)],
  run: [launch(1, {kernel: 2, scalars: [3], range: 2}), launch(1)],
} as unknown as Manifest;

test('an adapter gets its launches and the kernels that they call', () => {
  const names = ({kernels}: Manifest): string[] => kernels.map(({name}) => name);
  const software = forAdapter(manifest, true, false);
  assert.deepEqual(names(software), ['pack', 'small']);
  assert.deepEqual(software.run.map(({kernel, range}) => [kernel, range]), [[1, 8], [1, 8]]);
  const hardware = forAdapter(manifest, false, false);
  assert.deepEqual(names(hardware), ['pack', 'tiles', 'small']);
  assert.deepEqual(hardware.run.map(({kernel, range}) => [kernel, range]), [[1, 2], [2, 8]]);
  assert.deepEqual(hardware.run[0]?.scalars, [3]);
  assert.deepEqual(hardware.init[0]?.kernel, 0);
  assert.deepEqual(hardware.kernels.map(({number}) => number), [0, 2, 1], 'and what each is in the package');
});

test('a manifest without variants stays as it is', () => {
  const plain = {...manifest, run: [launch(1)]};
  assert.deepEqual(forAdapter(plain, false, false), plain);
});
