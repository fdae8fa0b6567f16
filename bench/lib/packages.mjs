// Packages of the table's models, compiled by the command line of an edition when they are asked for.
import {execFileSync} from 'node:child_process';
import {mkdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {modelOf} from '../models/table.mjs';

/** editions: {now: {checkout, build}, before: ...}; folder: for models and packages. */
export function packageMaker(editions, folder) {
  rmSync(folder, {recursive: true, force: true});
  return {
    folder,
    /** {model: a name of the table, links: of its chain}; gives {name, ms}: below `folder`, and the time of compiling. */
    make({edition, model, links, device}) {
      const graph = modelOf(model).graph(links);
      const file = join(folder, `${graph.name}.onnx`);
      mkdirSync(folder, {recursive: true});
      writeFileSync(file, graph.file());
      const name = `${edition}_${graph.name}_${device}`;
      const more = device === 'wasm' ? ['--relaxed-simd'] : [];
      const {build} = editions[edition];
      const begin = performance.now();
      try {
        execFileSync(join(build, 'gossamer'), ['compile', file, '--target', device, '--emit', 'package', '-o', join(folder, name), ...more], {stdio: ['ignore', 'ignore', 'pipe']});
      } catch (problem) {
        throw new Error(String(problem.stderr ?? problem).trim().split('\n').at(-1).slice(0, 300));
      } finally {
        rmSync(file);
      }
      return {name, ms: performance.now() - begin};
    },
    /** They are large; none is needed after its comparison. */
    clear: () => rmSync(folder, {recursive: true, force: true}),
  };
}
