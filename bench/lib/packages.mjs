// The table's models as files, and packages of them, made when they are asked for: what pages fetch.
import {execFileSync} from 'node:child_process';
import {mkdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {modelOf} from '../models/table.mjs';
import {tfliteFile} from '../models/tflite_file.mjs';

const raw = (data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** editions: {now: {checkout, build}, before: ...}; folder: for models and packages. */
export function packageMaker(editions, folder) {
  let graphs = new Map();

  /** {model: a name of the table, links: of its chain}; gives {name, inputs, outputs, file, tflite}: names of files. */
  function graph({model: name, links}) {
    const key = `${name} ${links}`;
    if (graphs.has(key)) return graphs.get(key);
    const model = modelOf(name);
    const made = model.graph(links);
    mkdirSync(folder, {recursive: true});
    const file = `${made.name}.onnx`;
    writeFileSync(join(folder, file), made.file());
    const inputs = made.inputs.map(({data, ...port}, at) => {
      const values = `${made.name}.in${at}`;
      writeFileSync(join(folder, values), raw(data));
      return {...port, values};
    });
    const tflite = model.net && `${made.name}.tflite`;
    if (tflite) writeFileSync(join(folder, tflite), tfliteFile(model.net()));
    const told = {name: made.name, inputs, outputs: made.outputs, state: made.state, file, tflite};
    graphs.set(key, told);
    return told;
  }

  return {
    folder,
    graph,
    /** Compiles it for an edition and a device; gives {name, ms}: a folder in `folder`, and the time. */
    make({edition, model, links, device}) {
      const {name: graphName, file} = graph({model, links});
      const name = `${edition}_${graphName}_${device}`;
      const more = [...(device === 'wasm' ? ['--relaxed-simd'] : []), ...(modelOf(model).decoding ? ['--state'] : [])];
      const args = ['compile', join(folder, file), '--target', device, '--emit', 'package', '-o', join(folder, name), ...more];
      rmSync(join(folder, name), {recursive: true, force: true});
      const begin = performance.now();
      try {
        execFileSync(join(editions[edition].build, 'gossamer'), args, {stdio: ['ignore', 'ignore', 'pipe']});
      } catch (problem) {
        throw new Error(String(problem.stderr ?? problem).trim().split('\n').at(-1).slice(0, 300));
      }
      return {name, ms: performance.now() - begin};
    },
    /** They are large, and none is needed after its comparison. */
    clear() {
      graphs = new Map();
      rmSync(folder, {recursive: true, force: true});
    },
  };
}
