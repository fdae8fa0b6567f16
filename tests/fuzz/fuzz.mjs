// Random graphs on the targets against the interpreter, as many as asked for.
//
//   node tests/fuzz/fuzz.mjs [--seed N] [--count N] [--target A,B] [--ops A,B] [--check] [--minimise]
//       [--device rpc://HOST:PORT/NAME?token=TOKEN]
//
// --target: also "webgpu mobile" and "webgl mobile", within the limits of phones. --check: compiling twice gives the
// same bytes, kernels' texts read back. --device: on one that has joined `gossamer rpc`, where --target is what it has. --minimise: shrinks what is wrong.
import {parseArgs} from 'node:util';
import {fuzz, minimise, targets} from './graphs.mjs';

const {values} = parseArgs({
  options: {
    seed: {type: 'string', default: '1'},
    count: {type: 'string', default: '1000'},
    target: {type: 'string', default: targets.join(',')},
    ops: {type: 'string'},
    check: {type: 'boolean', default: false},
    minimise: {type: 'boolean', default: false},
    device: {type: 'string'},
  },
});
const chosen = values.target.split(',');
const {ops, device} = values;
let wrong = 0;
let passed = 0;
// In portions, so that the first findings come early and the folder stays small.
const last = Number(values.seed) + Number(values.count);
for (let seed = Number(values.seed); seed < last; seed += 500) {
  const count = Math.min(500, last - seed);
  const {generated, rows, problems} = await fuzz({seed, count, chosen, ops, device, check: values.check ? targets : []});
  const nodes = generated.reduce((sum, line) => sum + (line.nodes ?? 0), 0);
  console.log(`graphs ${seed} to ${seed + count - 1}: ${nodes} nodes`);
  for (const row of rows) {
    passed += row.pass;
    console.log(`  ${row.target}: ${row.pass} agree, ${row.refused} refused, ${row.wrong} wrong, ${row.seconds.toFixed(0)} s`);
  }
  wrong += problems.length;
  for (const problem of problems) console.log(`FAIL  ${problem.target}: graph ${problem.seed}: ${problem.message}`);
  if (!values.minimise) continue;
  for (const problem of problems.filter(({target}) => target !== 'compile')) {
    const {edits, folder, text} = await minimise({...problem, ops, device});
    console.log(`${problem.target}: graph ${problem.seed}, --edits ${edits.join(',')}\n${folder}\n${text}`);
  }
}
console.log(`${passed} passed, ${wrong} failed`);
process.exit(wrong === 0 ? 0 : 1);
