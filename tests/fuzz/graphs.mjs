// Random graphs (graph_fuzz) on the targets (gossamer test): what agrees with the interpreter, what is refused, what
// is wrong, and the smallest graph that is still wrong.
import {spawn} from 'node:child_process';
import {existsSync, readFileSync, rmSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const targets = ['cpu', 'wasm', 'webgpu', 'webgl'];
// The limits of phones, as `gossamer test --limits mobile` has them.
export const limited = ['webgpu mobile', 'webgl mobile'];
const build = path.resolve(root, process.env.GOSSAMER_BUILD ?? 'build');
export const scratch = path.join(build, 'fuzz-graphs');
const jobs = String(os.availableParallelism());

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

/** Writes `count` graphs from number `seed` on below `folder`; a line each, with `problem` where one was found. */
export function generate({folder, seed, count, ops, check = [], more = []}) {
  rmSync(folder, {recursive: true, force: true});
  const args = [folder, '--seed', String(seed), '--count', String(count), '--jobs', jobs, ...more];
  if (ops) args.push('--ops', ops);
  if (check.length > 0) args.push('--check', check.join(','));
  return run('tests/fuzz/graph_fuzz', args);
}

/** 'pass', 'refused' (a diagnostic that names the node or the input), or 'wrong'. */
function kindOf({status, message = ''}) {
  if (status === 'pass') return 'pass';
  return status === 'error' && /^\[[\w.:]+\] "make_|^input "\w+": dimension \d+ \(\w+\) is empty/.test(message) ? 'refused' : 'wrong';
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
