// Random graphs (graph_fuzz) on the targets (gossamer test): what agrees with the interpreter, what is refused, what
// is wrong, and the smallest graph that is still wrong.
import {spawn, spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {jobs} from '../jobs.mjs';
import {interpreterKey} from '../models/write_case.mjs';
import {once} from '../once.mjs';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const targets = ['cpu', 'wasm', 'webgpu', 'webgl'];
// The limits of phones, as `gossamer test --limits mobile` has them.
export const limited = ['webgpu mobile', 'webgl mobile'];
const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');
export const scratch = path.join(build, 'fuzz-graphs');

/** Runs a program of the build; the objects of its lines of JSON. */
function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(path.join(build, program), args, {cwd: root});
    let output = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text) => (errors += text));
    child.on('error', reject);
    child.on('close', (code) => {
      const lines = output.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
      if (lines.length > 0) resolve(lines);
      else reject(new Error(`${program} ended with ${code}: ${errors.trim()}`));
    });
  });
}

function argumentsOf({folder, seed, count, ops, check = [], more = []}) {
  const args = [folder, '--seed', String(seed), '--count', String(count), '--jobs', jobs, ...more];
  if (ops) args.push('--ops', ops);
  if (check.length > 0) args.push('--check', check.join(','));
  return args;
}

/** Writes `count` graphs from number `seed` on below `folder`; a line each, with `problem` where one was found. */
export function generate(options) {
  rmSync(options.folder, {recursive: true, force: true});
  return run('tests/fuzz/graph_fuzz', argumentsOf(options));
}

function generateNow(options) {
  const {stdout, stderr} = spawnSync(path.join(build, 'tests/fuzz/graph_fuzz'), argumentsOf(options), {cwd: root, encoding: 'utf8', maxBuffer: 1 << 28});
  const lines = (stdout ?? '').split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  if (lines.length === 0) throw new Error(`graph_fuzz: ${stderr}`);
  return lines;
}

/** 'pass', 'refused' (a diagnostic that names the node or the input), or 'wrong'. */
function kindOf({status, message = ''}) {
  if (status === 'pass') return 'pass';
  return status === 'error' && /^\[[\w.:]+\] "make_/.test(message) ? 'refused' : 'wrong';
}

/** One verdict a graph below the folders: {graph, kind, message}; `graph` is the name of its own folder. `device`: rpc://... */
export async function judge(folders, configuration, device) {
  const [target, limits] = configuration.split(' ');
  const more = target === 'cpu' ? ['--threads', '2'] : limits ? ['--limits', limits] : [];
  if (device) more.push('--device', device);
  const lines = await run('gossamer', ['test', ...folders, '-t', target, '-j', jobs, '--timeout', '60', '--json', ...more]);
  return lines
    .filter(({name}) => name !== undefined)
    .map((line) => ({
      graph: path.basename(path.dirname(line.name)),
      kind: kindOf(line),
      message: line.message ?? '',
    }));
}

/** Where a target's graphs lie: GPUs are not given integers that 32 bits do not hold. */
function foldersFor(folder, target) {
  const kinds = /^(webgpu|webgl)\b/.test(target) ? ['narrow'] : ['narrow', 'wide'];
  return kinds.map((kind) => path.join(folder, kind)).filter((one) => existsSync(one));
}

const shapeOf = (message) => message.replace(/"[^"]*"|[-\d.e+]+|\[[^\]]*\]/g, '').slice(0, 40);

/** Takes away from a graph what its failure does not need. Resolves to the edits, and the folder of what is left. */
export async function minimise({seed, target, message, ops, device}) {
  const folder = path.join(scratch, 'smaller');
  const wanted = shapeOf(message);
  const edits = [];
  const named = /^output "(\w+)"/.exec(message)?.[1];
  const done = () => (edits.length > 0 ? ['--edits', edits.join(',')] : []);
  for (;;) {
    const lines = await generate({folder, seed, count: 1, ops, more: [...done(), '--variants']}).catch(() => []);
    const all = [...new Set(lines.map(({edit}) => edit).filter((edit) => edit))];
    all.sort((a, b) => Number(b === `only:${named}`) - Number(a === `only:${named}`));
    // A few at a time: the first that still fails will do.
    let next;
    for (let at = 0; !next && at < all.length; at += 8) {
      const some = all.slice(at, at + 8);
      const verdicts = await judge(some.map((edit) => path.join(folder, edit)), target, device);
      const fails = ({kind, message: text}) => kind === 'wrong' && shapeOf(text) === wanted;
      next = some.find((edit) => verdicts.some((verdict) => verdict.graph === edit && fails(verdict)));
    }
    if (!next) break;
    edits.push(next);
  }
  const [{folder: kept}] = await generate({folder, seed, count: 1, ops, more: done()});
  return {edits, folder: kept, text: readFileSync(path.join(kept, 'graph.txt'), 'utf8')};
}

/** Generates and judges. Resolves to {generated, rows: [{target, pass, refused, wrong}], problems: [{seed, ...}]}. */
export async function fuzz({seed, count, chosen, ops, device, check, name = 'graphs'}) {
  const folder = path.join(scratch, name);
  const generated = await generate({folder, seed, count, ops, check});
  const problems = generated
    .filter(({problem}) => problem)
    .map(({seed: number, problem}) => ({seed: number, target: 'compile', message: problem}));
  const rows = [];
  for (const target of chosen) {
    const started = Date.now();
    const row = {target, pass: 0, refused: 0, wrong: 0, seconds: 0};
    for (const {graph, kind, message} of await judge(foldersFor(folder, target), target, device)) {
      row[kind]++;
      if (kind === 'wrong') problems.push({seed: Number(graph), target, message});
    }
    row.seconds = (Date.now() - started) / 1000;
    rows.push(row);
  }
  return {generated, rows, problems};
}

// The fixed graphs of `make test`, by configuration. Two builds of one graph cost as much as a run, so only some are compared.
const sets = [
  {name: 'graphs_cpu', count: 200, check: [], configurations: ['cpu']},
  {name: 'graphs_web', count: 70, check: targets, configurations: ['wasm', 'webgpu', 'webgl']},
  {name: 'graphs_limited', count: 30, check: [], configurations: limited},
];
const firstSeed = 20000;

/** The folder of a set and what was found when it was made, which happens once for a build. */
function made({name, count, check}) {
  // Checks compile the graphs; without them only the interpreter decides what is written.
  const compiler = check.length > 0 ? createHash('sha256').update(readFileSync(path.join(build, 'tests/fuzz/graph_fuzz'))).digest('hex') : '';
  const key = interpreterKey(build, [path.join(build, 'tests/fuzz/CMakeFiles/graph_fuzz.dir')], compiler, {firstSeed, count, check});
  const folder = once(path.join(scratch, name), key, (part) => {
    const lines = generateNow({folder: part, seed: firstSeed, count, check});
    writeFileSync(path.join(part, 'graphs.json'), JSON.stringify(lines.map(({seed, nodes, problem}) => ({seed, nodes, problem}))));
  });
  return {folder, graphs: JSON.parse(readFileSync(path.join(folder, 'graphs.json'), 'utf8'))};
}

const namesBelow = (folder) => spawnSync(path.join(build, 'gossamer'), ['test', folder, '--list'], {encoding: 'utf8'}).stdout.trim().split('\n');

/** tests/cases/suite.mjs has the contract. */
export function planFor(configuration, {tally}) {
  const set = sets.find(({configurations}) => configurations.includes(configuration));
  if (!set) return undefined;
  const {folder, graphs} = made(set);
  if (configuration === set.configurations[0]) {
    for (const {seed, problem} of graphs)
      if (problem) tally.record(`graph ${seed}`, `${problem} (make fuzz ARGS="--seed ${seed} --count 1")`);
    const empty = graphs.filter(({nodes}) => nodes === 0).length;
    tally.record(`${set.name}: the generator`, empty > 0.1 * set.count ? `${empty} of ${set.count} graphs have no node` : '');
  }
  const names = foldersFor(folder, configuration).flatMap((one) =>
    readdirSync(one).map((graph) => `${set.name}/${path.basename(one)}/${graph}/test_data_set_0`));
  const kept = targets.includes(configuration) ? namesBelow(path.join(root, 'tests/fuzz/kept')) : [];
  return {
    folders: [folder, ...(kept.length > 0 ? [path.join(root, 'tests/fuzz/kept')] : [])],
    names: [...names, ...kept],
    judge(verdict) {
      const kind = kindOf(verdict);
      if (kind === 'refused' && !verdict.name.startsWith('kept/')) return null;
      const seed = verdict.name.split('/')[2];
      return kind === 'pass' ? '' : `${verdict.message || kind} (make fuzz ARGS="--seed ${seed} --count 1 --target ${configuration}")`;
    },
    // A generator whose graphs are refused tests nothing.
    end(verdicts) {
      const pass = verdicts.filter(({status}) => status === 'pass').length;
      return pass < 0.85 * verdicts.length ? `only ${pass} of ${verdicts.length} graphs agree` : '';
    },
  };
}
