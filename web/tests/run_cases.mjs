#!/usr/bin/env node
// Runs packages in a browser for `gossamer test`: JSON lines in, JSON lines out (README.md).
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {bundle} from '../runtime/build/bundle.mjs';

const here = import.meta.dirname;
try {
  // Bundled at each start: a few hundredths of a second, and never out of date.
  const page = await bundle({
    entryPoints: [join(here, 'src/case_page.ts')],
    format: 'iife',
    write: false,
  });
  mkdirSync(join(here, 'dist'), {recursive: true});
  const outfile = join(here, 'dist', `harness-${process.pid}.mjs`);
  await bundle({
    entryPoints: [join(here, 'src/harness.ts')],
    platform: 'node',
    format: 'esm',
    packages: 'external',
    outfile,
  });
  const {main} = await import(outfile);
  const {rmSync} = await import('node:fs');
  rmSync(outfile);
  await main(process.argv.slice(2), page.outputFiles[0].text);
  process.exit(0);
} catch (problem) {
  process.stderr.write(`run_cases: ${problem instanceof Error ? problem.message : problem}\n`);
  process.exit(1);
}
