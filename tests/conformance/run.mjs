// Every conformance case of the shared test data and of the onnx package on every target: prints the table target x suite, compares with
// known.tsv and writes docs/conformance.md.
//
//   node tests/conformance/run.mjs [--targets cpu,webgl] [--suites models] [--limits mobile] [--adapter lavapipe]
//       [--device rpc://HOST:PORT/NAME?token=TOKEN | --device native] [--listed] [--update] [--drivers]
//
//   --suites            only some, by the name of a folder; the first table of the document needs all of them
//   --limits mobile     webgpu and webgl within the limits of phones (docs/commands.md)
//   --limits es31       opengl with kernels for the limits of OpenGL ES 3.1
//   --adapter lavapipe  webgpu on Mesa's lavapipe (subgroups of 8) by the shared script browsers/lavapipe.sh, f16 stored as such
//   --device rpc://...  on a device that has joined `gossamer rpc`; webgpu, webgl and wasm unless --targets says which
//   --device native     webgpu, webgl and wasm without a browser (docs/commands.md, "run")
//   --listed            only the cases of known.tsv: what may be taken off?
//   --drivers           runs nothing, and writes the second table of the document: what ran last on this machine's drivers, by which
//                       commit's compiler; rows of which nothing is kept here stay
//   --update            takes what passes off known.tsv; nothing is ever put on it
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {excused, firstTable, gossamer, listFile, presentSuites, readList, root, runCases, secondTable, suiteOf, suites,
  targets} from './conformance.mjs';
import {shared} from '../shared.mjs';
import {countsOf, document, driversSection, table, withDrivers} from './report.mjs';

const {values: options} = parseArgs({options: {
  targets: {type: 'string'},
  suites: {type: 'string'},
  limits: {type: 'string'},
  adapter: {type: 'string'},
  device: {type: 'string'},
  listed: {type: 'boolean', default: false},
  update: {type: 'boolean', default: false},
  drivers: {type: 'boolean', default: false},
}});
const results = path.join(root, process.env.GOSSAMER_BUILD ?? 'build', 'conformance');

// Chromium on Mesa's lavapipe: a shared script takes the browser's place.
function lavapipe() {
  const script = shared(root, 'browsers/lavapipe.sh');
  if (!existsSync(script)) throw new Error(`--adapter lavapipe needs ${script}`);
  const folder = process.env.GOSSAMER_LAVAPIPE ?? path.join(root, 'third_party/cache/lavapipe');
  if (!existsSync(path.join(folder, 'vulkan.json'))) execFileSync('bash', [script, 'setup', folder], {stdio: 'inherit'});
  const flags = '--use-webgpu-adapter=swiftshader --use-angle=gl-egl --ignore-gpu-blocklist';
  return {
    extra: ['--browser-path', script, `--browser-args=${flags}`, '--f16'],
    env: {GOSSAMER_LAVAPIPE: folder},
  };
}

// What a device has that is none of this machine's own.
const having = ['webgpu', 'webgl', 'wasm'];

// What is run: a target, possibly on another adapter or within limits.
function configurations() {
  if (options.adapter && options.adapter !== 'lavapipe') throw new Error(`there is no adapter ${options.adapter}`);
  const gpus = options.adapter ? ['webgpu'] : options.limits ? (options.limits === 'es31' ? ['opengl'] : ['webgpu', 'webgl']) : targets;
  const chosen = options.targets?.split(',') ?? (options.device ? gpus.filter((target) => having.includes(target)) : gpus);
  for (const target of chosen)
    if (!gpus.includes(target)) throw new Error(`${target} is none of ${gpus.join(', ')}`);
  const {extra, env} = options.adapter ? lavapipe() : {extra: [], env: {}};
  return chosen.map((target) => ({
    name: [target, options.adapter, options.limits, options.device && (options.device === 'native' ? 'native' : 'over RPC')].filter(Boolean).join(' '),
    target,
    extra: [...extra, ...(options.limits ? ['--limits', options.limits] : []), ...(options.device ? ['--device', options.device] : [])],
    env,
  }));
}

// Results are kept by configuration and suite, so that several runs by the same compiler make one document.
const compiler = createHash('sha256').update(readFileSync(gossamer)).digest('hex');
const seconds = (started) => ((Date.now() - started) / 1000).toFixed(0);
const fileOf = (name) => path.join(results, `${name.replaceAll(' ', '-')}.json`);

// Of any compiler: suite → {compiler, commit, verdicts}.
function everySuite(name) {
  if (!existsSync(fileOf(name))) return {};
  const {bySuite = {}} = JSON.parse(readFileSync(fileOf(name), 'utf8'));
  return Object.fromEntries(Object.entries(bySuite).filter(([, {verdicts}]) => verdicts)); // earlier files have other entries
}

function keptSuites(name) {
  const own = Object.entries(everySuite(name)).filter(([, {compiler: by}]) => by === compiler);
  return Object.fromEntries(own.map(([suite, {verdicts}]) => [suite, verdicts]));
}

function keep(name, suite, verdicts) {
  mkdirSync(results, {recursive: true});
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {cwd: root, encoding: 'utf8'}).trim();
  const bySuite = {...everySuite(name), [suite.name]: {compiler, commit, verdicts}};
  writeFileSync(fileOf(name), JSON.stringify({bySuite}));
}

// Of all suites that are here.
function kept(name, chosen) {
  const bySuite = keptSuites(name);
  return chosen.every((suite) => bySuite[suite.name]) ? chosen.flatMap((suite) => bySuite[suite.name]) : undefined;
}

function chosenSuites() {
  const names = options.suites?.split(',');
  const chosen = suites.filter(({folders}) => !names || folders.some((folder) => names.includes(folder)));
  if (chosen.length === 0)
    throw new Error(`--suites ${options.suites}: there are ${suites.flatMap(({folders}) => folders).join(', ')}`);
  return chosen;
}

// A process (and a browser) a suite, the short cases first.
async function runSuites(chosen, {name, target, extra, env}, list) {
  const verdicts = [];
  for (const suite of chosen) {
    const names = options.listed
      ? [...list.keys()].filter((name) => suiteOf(name) === suite && excused(list, name, target))
      : undefined;
    if (names?.length === 0) continue;
    const started = Date.now();
    let done = 0;
    const take = () => {
      if (++done % 200 === 0) console.log(`   ${done}, ${seconds(started)} s`);
    };
    const some = await runCases({chosen: [suite], target, names, timeout: suite.timeout, extra, env, take});
    const {cases, passed} = countsOf(some);
    console.log(`   ${suite.name}: ${passed} of ${cases} pass, ${seconds(started)} s`);
    if (!options.listed) keep(name, suite, some);
    verdicts.push(...some);
  }
  return verdicts;
}

// Differences from the list: what must be repaired, and what should be taken off.
function compare(list, {target, name}, verdicts) {
  const failing = verdicts.filter(({status, name: at}) => status !== 'pass' && !excused(list, at, target));
  const passing = verdicts.filter(({status, name: at}) => status === 'pass' && excused(list, at, target));
  for (const {name: at, message} of failing) console.log(`FAIL  ${name}: ${at}: ${message}`);
  if (!options.update)
    for (const {name: at} of passing) console.log(`FAIL  ${name}: ${at} passes: take it off known.tsv (--update does)`);
  return {failing, passing};
}

// Takes cases off the list for the targets that they pass on.
function shrink(passing) {
  const lines = readFileSync(listFile, 'utf8').split('\n').flatMap((line) => {
    const [on, name, ...rest] = line.split('\t');
    const passes = passing.get(name);
    if (line.startsWith('#') || !passes) return [line];
    const left = (on === '*' ? targets : on.split(',')).filter((target) => !passes.has(target));
    return left.length > 0 ? [[left.join(','), name, ...rest].join('\t')] : [];
  });
  writeFileSync(listFile, lines.join('\n'));
}

const page = path.join(root, 'docs/conformance.md');

function writeDrivers() {
  const ran = secondTable.map((name) => [name, Object.values(everySuite(name)).flatMap(({verdicts}) => verdicts)])
    .filter(([, verdicts]) => verdicts.length > 0);
  if (ran.length === 0) throw new Error(`nothing has run on ${secondTable.join(', ')}`);
  const by = new Map(); // commit → suite → configurations
  for (const [name] of ran)
    for (const [suite, {commit}] of Object.entries(everySuite(name))) {
      const runs = by.get(commit) ?? new Map();
      by.set(commit, runs.set(suite, [...(runs.get(suite) ?? []), name]));
    }
  const text = readFileSync(page, 'utf8');
  const lines = text.split('\n');
  const stay = secondTable.filter((name) => !ran.some(([other]) => other === name)).flatMap((name) => lines.filter((line) => line.startsWith(`| ${name} |`)));
  writeFileSync(page, withDrivers(text, driversSection(new Map(ran), readList().list, by, stay)));
  console.log(`docs/conformance.md has ${ran.map(([name]) => name).join(', ')}`);
}

async function main() {
  if (options.drivers) {
    writeDrivers();
    return 0;
  }
  let skipped = 0;
  const chosen = presentSuites(chosenSuites(), ({name}, reason) => {
    console.log(`skip  ${name}: ${reason}`);
    skipped++;
  });
  const all = chosen.length === suites.length;
  const {list, problems} = readList();
  problems.forEach((problem) => console.log(`FAIL  ${problem}`));
  const taken = new Map(); // name → targets that it passes on although it is listed
  const ran = new Map();
  let passed = 0;
  let failed = problems.length;
  for (const configuration of chosen.length > 0 ? configurations() : []) {
    const {name, target} = configuration;
    console.log(`== ${name}`);
    const started = Date.now();
    const verdicts = await runSuites(chosen, configuration, list);
    ran.set(name, verdicts);
    const {failing, passing} = compare(list, configuration, verdicts);
    // On another adapter or within limits a listed case may pass by chance; the plain configuration decides.
    if (name === target)
      for (const {name: at} of passing) taken.set(at, new Set([...(taken.get(at) ?? []), target]));
    passed += verdicts.length - failing.length;
    failed += failing.length + (options.update || name !== target ? 0 : passing.length);
    console.log(`   all: ${countsOf(verdicts).passed} of ${verdicts.length} pass, ${seconds(started)} s`);
  }
  if (options.update) shrink(taken);
  const shown = new Map();
  for (const name of [...firstTable, 'webgpu lavapipe', 'webgpu mobile', 'webgl mobile'])
    if (all && kept(name, chosen)) shown.set(name, kept(name, chosen));
  console.log(`\n${table(new Map([...shown, ...ran]), chosen)}\n`);
  const whole = all && firstTable.every((target) => shown.has(target));
  if (whole) writeFileSync(page, withDrivers(document(shown, list), readFileSync(page, 'utf8')));
  else console.log('docs/conformance.md is as it was: it needs all suites on every target by this compiler');
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  return failed === 0 ? 0 : 1;
}

try {
  process.exit(await main());
} catch (problem) {
  console.log(`FAIL  ${problem.message}`);
  console.log('0 passed, 1 failed');
  process.exit(1);
}
