/** Times by the GPU's clock: a pass a launch, with a timestamp at both ends. */
import type {Recording} from '../devices/device.ts';
import type {Gpu} from '../devices/webgpu/adapter.ts';
import type {GpuRecording} from '../devices/webgpu/device.ts';

export const hasTimestamps = ({device}: Gpu): boolean => device.features.has('timestamp-query');

/** Launches in one query set, which has at most 4,096 timestamps. */
const TOGETHER = 1024;
const MOST = 2000;

/** Milliseconds of each recording, repeated as often as `counts` says. */
async function timesOf({device}: Gpu, recordings: readonly GpuRecording[], counts: readonly number[]): Promise<number[]> {
  const size = 16 * recordings.length;
  const querySet = device.createQuerySet({type: 'timestamp', count: 2 * recordings.length});
  const results = device.createBuffer({size, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC});
  const staging = device.createBuffer({size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST});
  recordings.forEach(({steps}, at) => {
    // A command buffer each: a GPU that takes seconds for one may be thought dead.
    const encoder = device.createCommandEncoder();
    const timestampWrites = {querySet, beginningOfPassWriteIndex: 2 * at, endOfPassWriteIndex: 2 * at + 1};
    const pass = encoder.beginComputePass({timestampWrites});
    for (const {pipeline, group, x, y} of steps) {
      if (!group) continue;
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      for (let turn = 0; turn < (counts[at] ?? 1); ++turn) pass.dispatchWorkgroups(x, y);
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
  });
  const encoder = device.createCommandEncoder();
  encoder.resolveQuerySet(querySet, 0, 2 * recordings.length, results, 0);
  encoder.copyBufferToBuffer(results, 0, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const stamps = new BigInt64Array(staging.getMappedRange().slice(0));
  [querySet, results, staging].forEach((each) => each.destroy());
  return recordings.map((_, at) => Math.max(0, Number((stamps[2 * at + 1] ?? 0n) - (stamps[2 * at] ?? 0n)) / 1e6));
}

/**
 * Milliseconds of each recording. Browsers round timestamps (Chromium: to 0.1 ms), so short launches are repeated: as often as `repeated` says
 * from an earlier time, which need not be found again, and as often as it takes. What was taken is left there.
 */
export async function byTimestamps(gpu: Gpu, recordings: readonly Recording[], minMs: number, repeated: (number | undefined)[]): Promise<number[]> {
  const found: number[] = [];
  for (let first = 0; first < recordings.length; first += TOGETHER) {
    const some = recordings.slice(first, first + TOGETHER) as GpuRecording[];
    let counts = some.map((_, at) => repeated[first + at] ?? 1);
    let times = await timesOf(gpu, some, counts);
    // A little less than before is enough.
    const enough = (ms: number, at: number): boolean => ms >= (repeated[first + at] === undefined ? minMs : 0.7 * minMs) || counts[at] === MOST;
    for (let turn = 0; turn < 3 && !times.every(enough); ++turn) {
      counts = counts.map((count, at) => {
        const ms = times[at] ?? 0;
        return enough(ms, at) ? count : Math.min(MOST, Math.ceil((1.1 * count * minMs) / Math.max(ms, minMs / 50)));
      });
      times = await timesOf(gpu, some, counts);
    }
    counts.forEach((count, at) => (repeated[first + at] = count));
    found.push(...times.map((ms, at) => ms / (counts[at] ?? 1)));
  }
  return found;
}
