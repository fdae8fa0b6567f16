// The cases of the entries of the catalog, compiled and run as models on each target, against the interpreter: a fixed
// share of them, or with --all all, as `make conformance` does.
//
//   node tests/catalog/suite.mjs [--all] [--device rpc://HOST:PORT/NAME?token=TOKEN] [TARGET...]
import {parseArgs} from 'node:util';
import {judge, share, targets, write} from './cases.mjs';
import {Tally} from '../tally.mjs';

const {values: {all, device}, positionals: chosen} = parseArgs({
  options: {all: {type: 'boolean', default: false}, device: {type: 'string'}},
  allowPositionals: true,
});
// One case in so many, for time: a browser takes some ten times as long for one, and so do compilers of OpenCL and OpenGL in software.
const EVERY = {cpu: 2, wasm: 3, webgpu: 4, webgl: 8, opencl: 24, opengl: 12};
// What does not pass, and why; a listed case that passes fails the suite.
const half = 'GPUs compute halves in f32 (docs/specs/semantics.md)';
const KNOWN = new Map([
  ['webgpu: Attention/5_softmax_in_half', half],
  ['webgl: Attention/5_softmax_in_half', half],
  ['opencl: Attention/5_softmax_in_half', half],
  ['opengl: Attention/5_softmax_in_half', half],
]);
const keyOf = (target, name) => `${target}: ${name.split('/').slice(1, 3).join('/')}`;
const tally = new Tally();

async function onTarget(cases, target) {
  const started = Date.now();
  // GPUs refuse integers that 32 bits do not hold (docs/specs/semantics.md).
  const possible = cases.filter(({wide}) => !wide || ['cpu', 'wasm'].includes(target));
  const picked = all ? possible : share(possible, EVERY[target], target);
  const verdicts = await judge(picked, target, device);
  if (verdicts.length !== picked.length) tally.record(target, `${verdicts.length} verdicts of ${picked.length} cases`);
  for (const {name, status, message} of verdicts) {
    const reason = KNOWN.get(keyOf(target, name));
    const bad = status !== 'pass' && (message || status);
    tally.record(`${target}: ${name}`, reason ? !bad && 'passes: take it off the list above' : bad);
  }
  const good = verdicts.filter(({status}) => status === 'pass').length;
  console.log(`${target}: ${good} of ${picked.length} pass, ${((Date.now() - started) / 1000).toFixed(0)} s`);
}

try {
  const {cases, problems} = await write();
  for (const problem of problems) tally.record('the cases', problem);
  for (const target of chosen.length > 0 ? chosen : targets) await onTarget(cases, target);
} catch (problem) {
  tally.record('the suite', problem.stack);
}
tally.end();
