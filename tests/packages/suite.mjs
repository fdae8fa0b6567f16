// Manifests as a stranger may make them, fed to both run times (docs/specs/package.md): each ends in an error that names
// the field, the same one in both, or in a package that runs without touching memory that is not its own. Then each
// check of both is left out in turn, which must be noticed.
//
//   node tests/packages/suite.mjs              a share of the cases and of the checks
//   node tests/packages/suite.mjs --all        all of both
//   node tests/packages/suite.mjs --no-checks  the cases alone
import {spawn} from 'node:child_process';
import {closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {Tally} from '../tally.mjs';
import {buildNative, bundleWeb} from './mutants.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const build = process.env.GOSSAMER_BUILD ?? 'build';
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-packages-'));
const all = process.argv.includes('--all');
const EVERY = all ? 1 : 10; // one check in ten is left out in `make test`, each of them with --all
const tally = new Tally();

async function importCases() {
  const {build: bundle} = await import(path.join(root, 'web/node_modules/esbuild/lib/main.js'));
  const outfile = path.join(work, 'cases.mjs');
  await bundle({
    entryPoints: [path.join(root, 'tests/packages/cases.mjs')], bundle: true, format: 'esm', platform: 'node', outfile, logLevel: 'error',
  });
  return import(outfile);
}

/** What a loader says of the cases, line by line; `each(at, line)` may end it by giving false. */
async function judge([program, ...args], each, seconds = 600) {
  const child = spawn(program, args, {stdio: ['ignore', 'pipe', 'ignore']});
  let late = false;
  let timer;
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      late = true;
      child.kill('SIGKILL');
    }, 1000 * seconds);
  };
  again();
  let at = 0;
  for await (const line of createInterface({input: child.stdout})) {
    again();
    if (each(at++, line) === false) {
      child.kill('SIGKILL');
      break;
    }
  }
  clearTimeout(timer);
  return {lines: at, late};
}

const {seeds, casesOf} = await importCases();
const packages = await seeds();
const weights = {};
for (const {name, files} of packages) {
  // The native loader reads folders; two work at the same time.
  for (const folder of ['0', '1'].flatMap((copy) => [name, `${name}-weights`].map((one) => path.join(work, copy, one)))) {
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
for await (const one of casesOf(packages, {share: all ? 1 : 0.03, combined: all ? 2000 : 60, seed: 8})) {
  cases.push({...one, at: cases.length});
  writeSync(output, `${JSON.stringify(one)}\n`);
}
closeSync(output);

const web = [process.execPath, path.join(work, 'web_loader.mjs'), caseFile, path.join(work, 'weights.json')];
const webChecks = await bundleWeb(root, web[1]);
const program = path.join(root, build, 'tests/packages/package_loader');
const native = existsSync(program) ? [program, caseFile, path.join(work, '0')] : undefined;
if (!native) console.log(`skip  the native run time: ${build}/tests/packages/package_loader is not built`);

const verdicts = {web: [], native: []};
const judged = await Promise.all([
  judge(web, (_, line) => void verdicts.web.push(line)),
  native ? judge(native, (_, line) => void verdicts.native.push(line)) : {lines: cases.length},
]);
for (const [at, loader] of ['web', 'native'].entries()) {
  const {lines} = judged[at];
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

/** Leaves out one check after the other; a loader that then says something else, dies or hangs has been noticed. */
async function leaveOut(name, commands, checks, wanted) {
  const missed = [];
  const some = checks.filter((_, at) => at % EVERY === 0);
  const rest = [{number: -1, file: 'none', line: 0, what: ''}, ...some];
  const worker = async (command) => {
    for (let check = rest.shift(); check; check = rest.shift()) {
      let noticed = false;
      const {lines} = await judge([...command, String(check.number)], (at, line) => {
        noticed = line !== wanted[at];
        return !noticed;
      }, 20);
      if (!noticed && lines === cases.length) missed.push(check);
    }
  };
  await Promise.all(commands.map(worker));
  const control = missed.findIndex(({number}) => number < 0);
  tally.record(`${name}: with every check it says the same again`, control < 0 ? 'it does not' : []);
  if (control >= 0) missed.splice(control, 1);
  console.log(`${name}: ${some.length} of ${checks.length} checks left out, ${some.length - missed.length} noticed`);
  tally.record(`${name}: each of ${some.length} checks is noticed when left out`, missed.map(({file, line, what}) => `\n      ${file}:${line} ${what}`));
}

try {
  if (!process.argv.includes('--no-checks')) {
    await leaveOut('web', [web, web], webChecks, verdicts.web);
    if (native) {
      const {checks, program: spoilt} = await buildNative(root, build, path.join(work, 'native'));
      await leaveOut('native', ['0', '1'].map((copy) => [spoilt, caseFile, path.join(work, copy)]), checks, verdicts.native);
    }
  }
} finally {
  rmSync(work, {recursive: true});
}
tally.end();
