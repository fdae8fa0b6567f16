import assert from 'node:assert/strict';
import {join} from 'node:path';
import {test} from 'node:test';

import {loseDevices} from './src/losses.ts';

// The long form is losses.mjs.
test('models outlive their devices, or say what they lost', async (context) => {
  const root = join(import.meta.dirname, '../..');
  const {bundle} = (await import(join(root, '../runtime/build/bundle.mjs'))) as {
    bundle: (options: object) => Promise<{outputFiles: {text: string}[]}>;
  };
  const entryPoints = [join(root, 'browser/loss_page.ts')];
  const page = await bundle({entryPoints, format: 'iife', write: false, minify: false});
  const {problems, ...figures} = await loseDevices({
    rounds: 60,
    kills: 2,
    script: page.outputFiles[0]?.text ?? '',
    say: (line) => context.diagnostic(line),
  });
  assert.deepEqual(problems, []);
  assert.deepEqual([figures.wrong, figures.hangs, figures.killed], [0, 0, 8]);
  // Losses that were none would prove nothing.
  assert.ok(figures.losses >= 60 && figures.recoveries >= 25 && figures.lost >= 50, JSON.stringify(figures));
});
