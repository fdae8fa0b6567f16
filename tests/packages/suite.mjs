// Manifests as a stranger may make them, fed to both run times (docs/specs/package.md). Each ends in an error that names
// the field, in the same words in both, or in a package that runs without touching memory that is not its own. Fields
// with values that src/package/manifest.def does not allow must be named themselves.
//
//   node tests/packages/suite.mjs        a share of the cases
//   node tests/packages/suite.mjs --all  all of them
import {spawn} from 'node:child_process';
import {closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {Tally} from '../tally.mjs';
import {fieldCases} from './fields.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const build = process.env.GOSSAMER_BUILD ?? 'build';
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-packages-'));
const all = process.argv.includes('--all');
const tally = new Tally();

/** Errors of manifests, numbers and types as #: each is reached by some case. */
const ERRORS = [
  'is not a list', 'is not an object', 'is not a string', 'is not a plain name', 'is not true or false', 'is not a known element type',
  'is not an integer in range', 'is not in [#, #)', 'is not in [-#, #)', 'is not # items long', 'is not unique', 'is not complete',
  'is not wasm', 'is not beside a GPU', 'is not one of the files',
  'is not # hexadecimal digits', 'is not # hexadecimal digits for each # bytes',
  'is not a storage type of # there', 'is not within its slot', 'is not within its tensor', 'is not that of its tensor, #',
  'is not in memory of known size', 'is not in memory of the first segment', 'is not before its lengths',
  'is not sequence or optional', 'is not part of inputs', 'is not part of outputs', 'is not that of something',
  'is not that of its axis, once', 'is not what its output alone continues',
  'is not one with a buffer a tensor', 'is not one number a scalar of the kernel', 'is not on the device of its tensors',
  'is not apart from what the kernel writes',
  'is not a list of steps', 'is not at most # steps deep', 'is not a step that this run time knows', 'is not a part of run',
  'is not a part of run on one device', 'is not a pair of tensors of one type on two devices', 'is not a tensor of integers',
  'is not absent where states grow', 'is not there to copy to the side', 'is not a number of segments that steps run',
];

/** A script of this folder with the sources in TypeScript that it imports. */
async function bundleOf(script) {
  const {build: bundle} = await import(path.join(root, 'web/node_modules/esbuild/lib/main.js'));
  const outfile = path.join(work, script);
  const setup = ({onLoad, onResolve}) => {
    // Devices are the tests' own.
    onResolve({filter: /^worker:/}, (found) => ({path: found.path, namespace: 'worker'}));
    onLoad({filter: /.*/, namespace: 'worker'}, () => ({contents: 'export default undefined'}));
  };
  await bundle({
    entryPoints: [path.join(root, 'tests/packages', script)], bundle: true, format: 'esm', platform: 'node', outfile, logLevel: 'error',
    plugins: [{name: 'workers', setup}],
  });
  return outfile;
}

/** The lines that a loader writes about the cases. */
async function judge([program, ...args], seconds = 600) {
  const child = spawn(program, args, {stdio: ['ignore', 'pipe', 'inherit']});
  const lines = [];
  let timer;
  for await (const line of createInterface({input: child.stdout})) {
    clearTimeout(timer);
    timer = setTimeout(() => child.kill('SIGKILL'), 1000 * seconds);
    lines.push(line);
  }
  clearTimeout(timer);
  return lines;
}

const {seeds, casesOf, randomNumbers} = await import(await bundleOf('cases.mjs'));
const packages = await seeds();
const weights = {};
for (const {name, files} of packages) {
  for (const folder of [name, `${name}-weights`].map((one) => path.join(work, one))) {
    mkdirSync(folder, {recursive: true});
    for (const [file, bytes] of files) writeFileSync(path.join(folder, file), bytes);
  }
  const has = files.get('weights.safetensors');
  weights[name] = has ? Buffer.from(has).toString('hex') : null;
}
writeFileSync(path.join(work, 'weights.json'), JSON.stringify(weights));
const caseFile = path.join(work, 'cases.jsonl');
const output = openSync(caseFile, 'w');
const cases = [];
const add = (one) => {
  cases.push({...one, at: cases.length});
  writeSync(output, `${JSON.stringify(one)}\n`);
};
for await (const one of casesOf(packages, {share: all ? 1 : 0.03, combined: all ? 2000 : 60, seed: 8})) add(one);
const random = randomNumbers(9);
for (const {name, manifest} of packages) {
  for (const one of fieldCases(manifest, () => all || random() < 0.1)) add({seed: name, ...one});
}
closeSync(output);

const web = [process.execPath, await bundleOf('web_loader.mjs'), caseFile, path.join(work, 'weights.json')];
const program = path.join(root, build, 'tests/packages/package_loader');
const native = existsSync(program) ? [program, caseFile, work] : undefined;
if (!native) console.log(`skip  the native run time: ${build}/tests/packages/package_loader is not built`);

const [webLines, nativeLines] = await Promise.all([judge(web), native && judge(native)]);
const verdicts = {web: webLines, native: nativeLines ?? []};
for (const loader of native ? ['web', 'native'] : ['web']) {
  const lines = verdicts[loader].length;
  tally.record(`${loader}: every case has an answer`, lines === cases.length ? [] : `case ${lines} of ${cases.length} ended it: ${cases[lines]?.manifest}`);
}
/** For a run time and a kind of package, the problems found, each with the first case that shows it. */
const problems = new Map();
const complain = (loader, what, {seed, at, manifest, weights: hex = ''}) => {
  const kind = `${loader} ${seed}`;
  if (!problems.has(kind)) problems.set(kind, new Map());
  const file = hex && ` with weights ${JSON.stringify(Buffer.from(hex, 'hex').toString())}`;
  if (!problems.get(kind).has(what)) problems.get(kind).set(what, `case ${at}: ${manifest.slice(0, 300)}${file}`);
};
const count = {refused: 0, failed: 0, ran: 0};
for (const one of cases) {
  const said = verdicts.web[one.at] ?? '';
  const theirs = verdicts.native[one.at];
  for (const [loader, line] of [['web', said], ['native', theirs ?? '']]) if (/CRASH|VIOLATION|UNNAMED/.test(line)) complain(loader, line, one);
  if (/\|ran$/.test(said)) ++count.ran;
  else if (said.startsWith('fine')) ++count.failed;
  else ++count.refused;
  if (one.path !== undefined) {
    const isOther = (line) => line !== undefined && !line.startsWith(`${one.path} is not `) && !/^(target|cpu)\|/.test(line);
    for (const [loader, line] of [['web', said], ['native', theirs]]) if (isOther(line)) complain(loader, `${one.path} is wrong: ${line}`, one);
  }
  if (theirs === undefined) continue;
  const [read, done] = said.split('|');
  const [theyRead, theyDid] = theirs.split('|');
  if (read !== theyRead && !(read === 'target' && one.manifest.includes('"cpu"'))) complain('native', `web: ${read}; native: ${theyRead}`, one);
  const weightsFailed = [done, theyDid].map((word) => /^load (weights|header|not JSON)/.test(word));
  if (read === 'fine' && one.weights !== undefined && one.seed === 'static-wasm' && weightsFailed[0] !== weightsFailed[1])
    complain('native', `web: ${done}; native: ${theyDid}`, one);
}
console.log(`${cases.length} manifests: ${count.refused} refused, ${count.failed} loaded and not run, ${count.ran} run`);
// Generated manifests count as one test for each kind of package and run time, however many there are.
for (const {name} of packages) {
  const number = cases.filter(({seed}) => seed === name).length;
  for (const loader of native ? ['web', 'native'] : ['web']) {
    const found = [...(problems.get(`${loader} ${name}`) ?? [])];
    tally.record(`${loader}: ${number} manifests of ${name}`, found.slice(0, 5).map(([what, where]) => `\n      ${what}\n      ${where}`));
  }
}

const seen = new Set(verdicts.web.flatMap((line) => /^package\S* (is not .*)\|/.exec(line)?.[1].replace(/(that of its tensor, |storage type of )\w+/, '$1#').replace(/\d+/g, '#') ?? []));
tally.record('every error of a manifest is reached', ERRORS.filter((text) => !seen.has(text)));
tally.record('every error is listed', [...seen].filter((text) => !ERRORS.includes(text)).map((text) => `"${text}" is not in ERRORS`));
rmSync(work, {recursive: true});
tally.end();
