// Gossamer's cpu packages.
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {openCpu} from './serve.mjs';

const ARRAYS = {f32: Float32Array, i32: Int32Array, i64: BigInt64Array, i8: Int8Array, u8: Uint8Array, bool: Uint8Array};

/** checkout: the root it was built in; build: its build folder; folder: the package, on disk. */
export async function open({checkout, build, folder, threads, graph}) {
  const scratch = mkdtempSync(join(tmpdir(), 'gossamer-bench-cpu-'));
  const inputs = graph.inputs.map(({name, shape, data}, at) => {
    const file = join(scratch, `in${at}`);
    writeFileSync(file, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    return {name, shape, file};
  });
  const model = await openCpu(folder, {from: checkout, build, threads, inputs, profile: false});
  const timed = async () => {
    const {wall, cpu} = await model.run(1);
    return {wall: wall[0], cpu: cpu[0]};
  };
  return {
    adapter: model.device,
    pid: model.pid,
    timed,
    run: async () => {
      await timed();
      const {types} = await model.save(join(scratch, 'out'));
      return types.map((type, at) => {
        const {buffer, byteOffset, length} = readFileSync(join(scratch, `out${at}`));
        return new ARRAYS[type](buffer.slice(byteOffset, byteOffset + length));
      });
    },
    close: () => {
      model.close();
      rmSync(scratch, {recursive: true, force: true});
    },
  };
}
