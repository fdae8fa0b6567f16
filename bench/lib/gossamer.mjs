// The command line, and cases for it.
import {spawnSync} from 'node:child_process';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {onnxFile, tensorFile} from '../models/onnx_file.mjs';

const gossamer = process.env.GOSSAMER ?? path.resolve(import.meta.dirname, '../../build/gossamer');

/** Its standard output; throws what it says on standard error. GOSSAMER names another program than build/gossamer. */
export function call(...command) {
  const {status, signal, stdout, stderr, error} = spawnSync(gossamer, command, {encoding: 'utf8', maxBuffer: 1 << 28, timeout: 900_000});
  if (status === 0) return stdout;
  const said = stdout?.split('\n')[0];
  throw new Error(stderr?.trim().split('\n').at(-1) || (said?.startsWith('{') ? JSON.parse(said).message : said) || String(error ?? signal ?? status));
}

/** An array of f32 in a file of NumPy's format: {shape, data}. */
export function npyValues(file) {
  const bytes = readFileSync(file);
  const header = bytes.subarray(10, 10 + bytes.readUInt16LE(8)).toString();
  const shape = /'shape': \(([^)]*)\)/.exec(header)[1].split(',').map((each) => each.trim()).filter(Boolean).map(Number);
  if (!header.includes("'<f4'")) throw new Error(`${file}: not of f32`);
  return {shape, data: new Float32Array(bytes.buffer.slice(bytes.byteOffset + 10 + bytes.readUInt16LE(8), bytes.byteOffset + bytes.length))};
}

/**
 * A case for `gossamer test` in a folder that is there: the model, its inputs, and what `gossamer run` with these arguments
 * makes of them. Gives the model's file and the arguments that name its inputs.
 */
export function writeCase(graph, folder, args) {
  const model = path.join(folder, 'model.onnx');
  const data = path.join(folder, 'test_data_set_0');
  mkdirSync(data);
  writeFileSync(model, onnxFile(graph));
  const inputs = graph.inputs.flatMap(({name, data: values, shape}, at) => {
    const file = path.join(data, `input_${at}.pb`);
    writeFileSync(file, tensorFile({name, shape, data: values}));
    return ['--input', `${name}=${file}`];
  });
  call('run', model, ...args, ...inputs, '--save', folder);
  for (const [at, {name}] of graph.outputs.entries()) {
    writeFileSync(path.join(data, `output_${at}.pb`), tensorFile({name, ...npyValues(path.join(folder, `${name}.npy`))}));
  }
  return {model, inputs};
}
