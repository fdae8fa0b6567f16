// The cases of the catalog's entries as models with the interpreter's outputs: a fixed share of them on each
// configuration, or all.
import {execFileSync} from 'node:child_process';
import {readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {hash} from '../conformance/conformance.mjs';
import {jobs} from '../jobs.mjs';
import {interpreterKey} from '../models/write_case.mjs';
import {once} from '../once.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const build = path.join(root, process.env.GOSSAMER_BUILD ?? 'build');
const folder = path.join(build, 'catalog');

// One case in this many, for time: a browser takes about ten times as long for one. Drivers in software get `few`.
const every = {cpu: 2, wasm: 3, webgpu: 4, webgl: 8};
const few = 10;
// Cases that do not pass, with the reason; a listed case that passes fails the suite.
const half = 'GPUs compute halves in f32 (docs/specs/semantics.md)';
const known = new Map(['webgpu', 'webgl', 'opencl', 'opengl'].map((target) => [`${target}: Attention/5_softmax_in_half`, half]));

/** Writes every case: their names and the problems of writing them. Made once for a build of the interpreter. */
function write() {
  const program = path.join(build, 'tests/fuzz/graph_fuzz');
  const key = interpreterKey(build, [path.join(build, 'tests/fuzz/CMakeFiles/graph_fuzz.dir')]);
  once(folder, key, (part) => {
    let output;
    try {
      output = execFileSync(program, [part, '--catalog', '--jobs', jobs], {cwd: root, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe']});
    } catch (problem) {
      if (problem.status !== 1) throw problem; // 1: some case has a problem
      output = problem.stdout;
    }
    const lines = output.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    const cases = lines.filter((line) => line.folder).map((line) => path.relative(part, line.folder));
    writeFileSync(path.join(part, 'cases.json'), JSON.stringify({cases, problems: lines.filter(({problem}) => problem).map(({problem}) => problem)}));
  });
  return JSON.parse(readFileSync(path.join(folder, 'cases.json'), 'utf8'));
}

let written;

/** tests/cases/suite.mjs has the contract. */
export function planFor(configuration, {all, tally}) {
  const [target, form] = configuration.split(' ');
  if (!written) {
    written = write();
    for (const problem of written.problems) tally.record('the catalog', problem);
  }
  // GPUs refuse integers that 32 bits do not hold (docs/specs/semantics.md).
  const possible = written.cases.filter((name) => !name.startsWith('wide/') || ['cpu', 'wasm'].includes(target));
  const order = (name) => hash(`${target} ${name}`);
  const count = form || !every[target] ? few : Math.ceil(possible.length / every[target]);
  const picked = all ? possible : [...possible].sort((a, b) => order(a) - order(b)).slice(0, count);
  return {
    folders: [folder],
    names: picked.map((name) => `catalog/${name}/test_data_set_0`),
    judge({name, status, message}) {
      const reason = known.get(`${target}: ${name.split('/').slice(2, 4).join('/')}`);
      const bad = status !== 'pass' && (message || status);
      return reason ? !bad && 'passes: take it off the list of known cases' : bad;
    },
  };
}
