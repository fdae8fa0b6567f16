// Random graphs with fixed numbers on every target, against the interpreter; and the operator cases that such graphs
// once failed on (kept/). `make fuzz` tries more.
//
//   node tests/fuzz/suite.mjs [TARGET...]
import path from 'node:path';
import {fuzz, judge, limited, root, targets} from './graphs.mjs';
import {Tally} from '../tally.mjs';

const chosen = process.argv.length > 2 ? process.argv.slice(2) : targets;
const seed = 20000;
const tally = new Tally();

// Two builds of one graph cost as much as a run, so only some are compared.
async function graphs(name, count, its, check) {
  if (its.length === 0) return;
  const {generated, rows, problems} = await fuzz({seed, count, chosen: its, check, name});
  for (const {seconds, ...row} of rows) {
    const {target, pass, refused, wrong} = row;
    tally.passed += pass;
    console.log(`${target}: ${pass} agree, ${refused} refused, ${wrong} wrong, ${seconds.toFixed(0)} s`);
    // A generator whose graphs are refused tests nothing.
    if (pass < 0.85 * (pass + refused + wrong)) tally.record(target, `only ${pass} of ${count} graphs agree`);
  }
  for (const problem of problems)
    tally.record(`${problem.target}: graph ${problem.seed}`, `${problem.message} (make fuzz ARGS="--seed ${problem.seed} --count 1")`);
  const empty = generated.filter(({nodes}) => nodes === 0).length;
  if (empty > 0.1 * count) tally.record('the generator', `${empty} of ${count} graphs have no node`);
}

try {
  await graphs('cpu', 200, chosen.filter((target) => target === 'cpu'), []);
  await graphs('web', 70, chosen.filter((target) => target !== 'cpu'), targets);
  await graphs('limited', 30, limited.filter((target) => chosen.includes(target.split(' ')[0])), []);
  for (const target of chosen) {
    const verdicts = await judge([path.join(root, 'tests/fuzz/kept')], target);
    for (const {graph, kind, message} of verdicts) tally.record(`${target}: kept ${graph}`, kind === 'pass' ? '' : message || kind);
  }
} catch (problem) {
  tally.record('the suite', problem.stack);
}
tally.end();
