// What a cached step of training costs its host, in CPU time: an MLP so small (32 x 8-16-4, Adam) that kernels hardly count, on wasm with
// one thread in Node. node bench/step_overhead.mjs [--before FOLDER]: a folder with another build of tensor.js, which takes turns.
import {join} from 'node:path';
import {parseArgs} from 'node:util';

const {values: options} = parseArgs({options: {before: {type: 'string'}, rounds: {type: 'string', default: '40'}}});
const STEPS = 200;
const folders = {now: join(import.meta.dirname, '../web/tensor/dist'), ...(options.before ? {before: options.before} : {})};

async function open(folder) {
  const {manualSeed, nn, optim, setNumThreads, Tensor} = await import(join(folder, 'tensor.js'));
  setNumThreads(1);
  manualSeed(1);
  const net = new nn.Sequential(new nn.Linear(8, 16), new nn.ReLU(), new nn.Linear(16, 4));
  const optimizer = new optim.Adam(net.parameters(), {lr: 1e-3});
  const rows = Float32Array.from({length: 32 * 8}, (_, at) => Math.sin(at));
  const labels = Int32Array.from({length: 32}, (_, at) => at % 4);
  return async () => {
    const [x, y] = [new Tensor(rows, {shape: [32, 8]}), new Tensor(labels, {shape: [32]})];
    optimizer.zeroGrad();
    const loss = nn.functional.crossEntropy(net.forward(x), y);
    loss.backward();
    optimizer.step();
    const value = await loss.item();
    for (const each of [x, y, loss]) each.dispose();
    return value;
  };
}

const parties = await Promise.all(Object.entries(folders).map(async ([name, folder]) => ({name, step: await open(folder), times: [], last: 0})));
const turn = async (party) => {
  const begin = process.cpuUsage();
  for (let step = 0; step < STEPS; ++step) party.last = await party.step();
  const {user, system} = process.cpuUsage(begin);
  return (user + system) / STEPS;
};
for (const party of parties) for (let round = 0; round < 5; ++round) await turn(party);
const ratios = [];
for (let round = 0; round < Number(options.rounds); ++round) {
  for (const party of round % 2 ? parties.toReversed() : parties) party.times.push(await turn(party));
  if (parties[1]) ratios.push(parties[0].times.at(-1) / parties[1].times.at(-1));
}
if (!parties.every(({last}) => last === parties[0].last)) throw new Error(`the losses differ: ${parties.map(({last}) => last).join(', ')}`);
const at = (list, part) => list.toSorted((a, b) => a - b)[Math.floor(part * (list.length - 1))];
for (const {name, times} of parties) console.log(`${name}: ${at(times, 0.5).toFixed(0)} us of CPU a step, kernels included (least ${at(times, 0).toFixed(0)})`);
if (ratios.length > 0) console.log(`now / before: ${at(ratios, 0.5).toFixed(3)}`);
