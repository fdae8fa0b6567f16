#!/usr/bin/env node
// Models that lose their devices, hundreds of times: node web/tests/losses.mjs --rounds 300 --kills 6 --seed 1
import {bundled} from './bundled.mjs';

const args = process.argv.slice(2);
const number = (name, otherwise) => {
  const at = args.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(args[at + 1]);
};

const {script, program} = await bundled('browser/loss_page.ts', 'src/losses.ts');
const outcome = await program.loseDevices({
  rounds: number('rounds', 300),
  kills: number('kills', 6),
  seed: number('seed', 1),
  script,
  say: (line) => console.log(line),
});
const {problems, ...figures} = outcome;
for (const problem of problems) console.log(problem);
console.log(JSON.stringify(figures));
process.exit(problems.length > 0 || figures.wrong + figures.hangs > 0 ? 1 : 0);
