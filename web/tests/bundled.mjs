/** What the programs here are made of: a script for the page, and a module of Node around it. */
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {bundle} from '../runtime/build/bundle.mjs';

const here = import.meta.dirname;

/** `page` (if any) and `module`: sources below this folder. Bundled at each start: a few hundredths of a second, and never out of date. */
export async function bundled(page, module) {
  const script = page && (await bundle({entryPoints: [join(here, page)], format: 'iife', write: false}));
  mkdirSync(join(here, 'dist'), {recursive: true});
  const outfile = join(here, 'dist', `program-${process.pid}.mjs`);
  await bundle({
    entryPoints: [join(here, module)],
    platform: 'node',
    format: 'esm',
    packages: 'external',
    outfile,
  });
  const program = await import(outfile);
  rmSync(outfile);
  return {script: script?.outputFiles[0].text, program};
}
