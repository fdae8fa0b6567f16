#!/usr/bin/env node
// Models that lose their devices, hundreds of times: node web/tests/losses.mjs --rounds 300 --kills 6 --seed 1
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {bundle} from '../runtime/build/bundle.mjs';

const here = import.meta.dirname;
const args = process.argv.slice(2);
const number = (name, otherwise) => {
  const at = args.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(args[at + 1]);
};

const page = await bundle({entryPoints: [join(here, 'browser/loss_page.ts')], format: 'iife', write: false});
mkdirSync(join(here, 'dist'), {recursive: true});
const outfile = join(here, 'dist', `losses-${process.pid}.mjs`);
await bundle({
  entryPoints: [join(here, 'src/losses.ts')],
  platform: 'node',
  format: 'esm',
  packages: 'external',
  outfile,
});
const {loseDevices} = await import(outfile);
rmSync(outfile);
const outcome = await loseDevices({
  rounds: number('rounds', 300),
  kills: number('kills', 6),
  seed: number('seed', 1),
  script: page.outputFiles[0].text,
  say: (line) => console.log(line),
});
const {problems, ...figures} = outcome;
for (const problem of problems) console.log(problem);
console.log(JSON.stringify(figures));
process.exit(problems.length > 0 || figures.wrong + figures.hangs > 0 ? 1 : 0);
