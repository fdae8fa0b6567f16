// What `model.tune()` finds in a page in seconds, of what it finds in minutes: a model is tuned for `--seconds`, then for `--long` more,
// and the default points, those of the records that come with the compiler, the short search's and the long one's take turns.
//
//   node bench/tune_page.mjs [--model resnet18] [--device webgpu] [--seconds 10] [--long 120] [--costs FOLDER]
//                            [--browser PATH] [--browser-args "..."] [--out FOLDER]
//
// --costs: FOLDER/MODEL.jsonl has what was learned of other models alone (`gossamer cost-model --output`), in place of what comes with
// the compiler, which may know this one.
// Writes OUT/tune_page.json and .md, and the long search's records. Runs from a checkout and from what `make bench-pack` writes.
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {parseArgs} from 'node:util';
import {commandWords, findBrowser, openBrowser} from './lib/browser.mjs';
import {layout} from './lib/layout.mjs';
import {serve} from './lib/server.mjs';
import {modelOf, models} from './models/table.mjs';

const {values: given} = parseArgs({args: commandWords(), options: {
  model: {type: 'string', default: 'resnet18'}, device: {type: 'string', default: 'webgpu'},
  seconds: {type: 'string', default: '10'}, long: {type: 'string', default: '120'}, threads: {type: 'string', default: '1'},
  costs: {type: 'string'}, browser: {type: 'string'}, 'browser-args': {type: 'string', default: ''},
  out: {type: 'string', default: join(import.meta.dirname, '.cache/tune')},
}});
const jobs = given.device.split(',').flatMap((device) => given.model.split(',').map((model) => ({
  model, device, seconds: Number(given.seconds), long: Number(given.long), threads: Number(given.threads),
  costs: given.costs ? readFileSync(join(given.costs, `${model}.jsonl`), 'utf8') : '',
})));
const unknown = jobs.find(({model}) => !modelOf(model));
if (unknown) {
  console.error(`tune_page: no model "${unknown.model}"; there are ${models.map(({name}) => name).join(', ')}`);
  process.exit(2);
}
const out = resolve(given.out);
mkdirSync(out, {recursive: true});

const rows = [];
const turns = (values) => values.map((value) => value.toFixed(3)).join(' | ');
const percent = (share) => (share === undefined ? 'no gain' : `${(100 * share).toFixed(0)} %`);
const line = ({model, device, adapter, points, runs, kernels, share, shareBeyondShipped, recordFiles, framesPerSecond, took, spent, problem}) => (problem
  ? `| ${model} | ${device} | ${problem.split('\n')[0].replaceAll('|', '/')} |`
  : `| ${model} | ${device} | ${adapter} | ${points.join(' and ')} | ${turns(runs)} | ${turns(kernels)} | ${(kernels[0] / kernels[3]).toFixed(2)} | ` +
    `${percent(share)} | ${recordFiles.length > 0 ? percent(shareBeyondShipped) : 'none'} | ${framesPerSecond.toFixed(0)} | ${took[0].toFixed(1)} | ` +
    `${Object.values(spent[0]).map((each) => each.toFixed(1)).join(', ')} |`);
const write = () => {
  writeFileSync(join(out, 'tune_page.json'), `${JSON.stringify(rows, null, 1)}\n`);
  writeFileSync(join(out, 'tune_page.md'), `# Tuned in the page

\`node bench/tune_page.mjs\`: milliseconds of whole runs and of the sum of kernels (medians, in turns) with the default points, those of the
records that come with the compiler for the device, those of ${given.seconds} s of \`model.tune()\` (which begins with these records), and those of
${given.long} s more. Gain: of the long search. Share: of that gain in kernels over the default points, what a page has after ${given.seconds} s; beyond: the
same of what the long search gains over the records that came with the compiler, where there are some. Frames that the page drew a second
during the short search, the seconds that it took, package included, and those for which it compiled, loaded and measured.

| model | device | adapter | points | run | shipped | short | long | kernels | shipped | short | long | gain | share | beyond | frames | took | spent |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
${rows.map(line).join('\n')}
`);
};

const here = resolve(import.meta.dirname, '..');
const folders = existsSync(join(here, 'now')) ? {'': here} : layout();
let finish;
const ended = new Promise((resolve) => {
  finish = resolve;
});
const server = await serve(folders, {
  '/jobs': () => jobs,
  '/progress': ({text}) => console.log(text),
  '/row': ({records, ...row}) => {
    rows.push(row);
    if (records) writeFileSync(join(out, `${row.model}.${row.device}.page.jsonl`), records);
    write();
    console.log(line(row));
  },
  '/done': () => finish(),
});
const browser = openBrowser(given.browser ?? findBrowser(), `${server.origin}/bench/page/tuning.html`, given['browser-args'].split(/\s+/).filter(Boolean));
await Promise.race([ended, browser.ended.then(() => rows.push({...jobs[rows.length], problem: 'the browser ended'}))]);
write();
await browser.close();
server.close();
process.exitCode = rows.some(({problem}) => problem) ? 1 : 0;
