// Models as test cases whose expected outputs are the reference interpreter's.
import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {mkdirSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {tensorFile} from '../../bench/models/onnx_file.mjs';
import {npy, read_npy} from '../libraries/arrays.mjs';

const kinds = {f32: '<f4', i32: '<i4', i64: '<i8', u8: '|u1'};

/** Feeds of a model's graph: {name: {kind, shape, data}}, where kind is the element type of an .npy file. */
export const feedsOf = (graph) =>
  Object.fromEntries(graph.inputs.map(({name, type, shape, data}) => [name, {kind: kinds[type], shape, data}]));

/**
 * Writes data set number `set` of a case as `gossamer test` reads it. `graph` has the data that is fed. `model` is the
 * case's model if it differs from `graph`, which the program `gossamer` runs. Throws if the run fails.
 */
export function writeCase(folder, graph, {gossamer, set = 0, model = graph}) {
  const data = path.join(folder, `test_data_set_${set}`);
  mkdirSync(data, {recursive: true});
  if (set === 0) writeFileSync(path.join(folder, 'model.onnx'), model.file());
  const ran = path.join(data, 'run.onnx');
  writeFileSync(ran, graph.file());
  const inputs = Object.entries(feedsOf(graph)).flatMap(([port, {kind, shape, data: values}], at) => {
    writeFileSync(path.join(data, `input_${at}.pb`), tensorFile({name: port, shape, data: values}));
    writeFileSync(path.join(data, `${port}.npy`), npy(kind, shape, values));
    return ['--input', `${port}=${path.join(data, `${port}.npy`)}`];
  });
  const {status, stderr} = spawnSync(gossamer, ['run', ran, '--target', 'interp', '--save', data, ...inputs], {encoding: 'utf8'});
  if (status !== 0) throw new Error(`${data}: ${stderr}`);
  graph.outputs.forEach((port, at) => {
    const {shape, elements} = read_npy(path.join(data, `${port.name}.npy`));
    writeFileSync(path.join(data, `output_${at}.pb`), tensorFile({name: port.name, shape, data: elements}));
  });
}

const objectsIn = (folder) => readdirSync(folder, {recursive: true}).filter((name) => name.endsWith('.o')).sort().map((name) => path.join(folder, name));

/**
 * Identifies the reference interpreter of a build, whose outputs do not depend on schedules and code generators.
 * `programs`: folders of object files of a program that writes cases.
 */
export function interpreterKey(build, programs = [], ...more) {
  const archives = ['base', 'ir', 'ops', 'interp', 'graph', 'onnx', 'command'].map((name) => path.join(build, `libgossamer_${name}.a`));
  const hash = createHash('sha256');
  for (const file of [...archives, ...programs.flatMap(objectsIn)]) hash.update(readFileSync(file));
  return hash.update(JSON.stringify(more)).digest('hex');
}
