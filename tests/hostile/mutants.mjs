// Damaged models: graphs that tests/fuzz makes, with bytes changed, cut out, repeated or cut off.
import {execFileSync} from 'node:child_process';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';

const GRAPHS = 12;
const FIRST = 7000; // of the graphs' numbers

// A small generator of our own: the same numbers on every machine.
function random(seed) {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const EDITS = [
  (bytes, at) => { bytes[at(bytes.length)] ^= 1 << at(8); return bytes; },
  (bytes, at) => { bytes[at(bytes.length)] = [0, 0x7f, 0x80, 0xff][at(4)]; return bytes; },
  // The longest number that a length, a dimension or a type can be.
  (bytes, at) => {
    const from = at(bytes.length);
    return Buffer.concat([bytes.subarray(0, from), Buffer.from('ffffffffffffffff7f', 'hex'), bytes.subarray(from + 1)]);
  },
  (bytes, at) => {
    const from = at(bytes.length);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + at(16))]);
  },
  (bytes, at) => {
    const from = at(bytes.length);
    return Buffer.concat([bytes.subarray(0, from + at(64)), bytes.subarray(from)]);
  },
  (bytes, at) => bytes.subarray(0, at(bytes.length)),
];

/** Writes `count` of them below `folder`: [{name, file, damaged: true}]. */
export function mutants(build, folder, count) {
  const graphs = path.join(folder, 'graphs');
  const lines = execFileSync(path.join(build, 'tests/fuzz/graph_fuzz'),
    [graphs, '--seed', String(FIRST), '--count', String(GRAPHS)], {encoding: 'utf8', maxBuffer: 2 ** 26});
  const seeds = lines.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
    .filter((line) => line.folder).map((line) => readFileSync(path.join(line.folder, 'model.onnx')));
  const to = path.join(folder, 'mutants');
  mkdirSync(to, {recursive: true});
  return Array.from({length: count}, (_, number) => {
    const at = random(number + 1);
    let bytes = Buffer.from(seeds[number % seeds.length]);
    for (let left = 1 + at(3); left > 0 && bytes.length > 0; left--) bytes = EDITS[at(EDITS.length)](bytes, at);
    const file = path.join(to, `${number}.onnx`);
    writeFileSync(file, bytes);
    return {name: `mutant ${number}`, file, invalid: false, damaged: true};
  });
}
