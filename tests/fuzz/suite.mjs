// Random graphs with fixed numbers on every target, against the interpreter; and the operator cases that such graphs
// once failed on (kept/). `make fuzz` tries more.
//
//   node tests/fuzz/suite.mjs [TARGET...]
import path from 'node:path';
import {fuzz, judge, root, targets} from './graphs.mjs';

const chosen = process.argv.length > 2 ? process.argv.slice(2) : targets;
const seed = 20000;
let passed = 0;
let failed = 0;

function record(problem) {
  if (problem) failed++;
  else passed++;
  if (problem) console.log(`FAIL  ${problem}`);
}

// Two builds of one graph cost as much as a run, so only some are compared.
async function graphs(name, count, its, check) {
  if (its.length === 0) return;
  const {generated, rows, problems} = await fuzz({seed, count, chosen: its, check, name});
  for (const {seconds, ...row} of rows) {
    const {target, pass, refused, wrong} = row;
    passed += pass;
    console.log(`${target}: ${pass} agree, ${refused} refused, ${wrong} wrong, ${seconds.toFixed(0)} s`);
    // A generator whose graphs are refused tests nothing.
    if (pass < 0.85 * (pass + refused + wrong)) record(`${target}: only ${pass} of ${count} graphs agree`);
  }
  for (const problem of problems)
    record(`${problem.target}: graph ${problem.seed}: ${problem.message} (make fuzz ARGS="--seed ${problem.seed} --count 1")`);
  const empty = generated.filter(({nodes}) => nodes === 0).length;
  if (empty > 0.1 * count) record(`${empty} of ${count} graphs have no node`);
}

try {
  await graphs('cpu', 200, chosen.filter((target) => target === 'cpu'), []);
  await graphs('web', 70, chosen.filter((target) => target !== 'cpu'), targets);
  for (const target of chosen) {
    const verdicts = await judge([path.join(root, 'tests/fuzz/kept')], target);
    for (const {graph, kind, message} of verdicts) record(kind === 'pass' ? '' : `${target}: kept ${graph}: ${message}`);
  }
} catch (problem) {
  record(problem.message);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
