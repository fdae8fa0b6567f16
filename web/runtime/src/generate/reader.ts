/** Tokens on their way from the device: several steps are read at once. */
import type {DeviceTensor} from '../tensors/tensors.ts';

/** How long tokens may wait for those after them, in milliseconds: a frame of a page. */
const PATIENCE = 16;
/** Tokens that are read at once, at most. */
const MOST = 32;

export interface Reader {
  /** How many are read at once by now. */
  readonly size: number;
  /** The token of a step, which is copied before the next step may overwrite it. */
  add(id: DeviceTensor): void;
  /** The oldest tokens that were not given yet, when they arrive. */
  take(): Promise<ArrayLike<number>>;
  dispose(): void;
}

/** Reads each token by itself. */
export function plainReader(): Reader {
  const waiting: Promise<number>[] = [];
  return {
    size: 1,
    add: (id) => {
      const value = id.data().then((data) => Number(data[0]));
      value.catch(() => undefined); // whoever takes it is told
      waiting.push(value);
    },
    take: async () => [await (waiting.shift() as Promise<number>)],
    dispose: () => undefined,
  };
}

interface Group {
  readonly buffer: GPUBuffer;
  count: number;
}

/** Collects tokens in a buffer, which is mapped when it has as many as the device makes in PATIENCE. */
export function gpuReader(device: GPUDevice): Reader {
  const rest: GPUBuffer[] = [];
  const sent: Promise<Group>[] = [];
  let group: Group | undefined;
  let size = 1;
  let last = 0;
  const open = (): Group => ({
    buffer: rest.pop() ?? device.createBuffer({size: 4 * MOST, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST}),
    count: 0,
  });
  const flush = (): void => {
    if (!group) return;
    const mine = group;
    group = undefined;
    const mapped = mine.buffer.mapAsync(GPUMapMode.READ, 0, 4 * mine.count).then(() => mine);
    mapped.catch(() => undefined);
    sent.push(mapped);
  };
  return {
    get size() {
      return size;
    },
    add: (id) => {
      group ??= open();
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(id.gpuBuffer as GPUBuffer, 0, group.buffer, 4 * group.count, 4);
      device.queue.submit([encoder.finish()]);
      if (++group.count >= size) flush();
    },
    take: async () => {
      if (sent.length === 0) flush();
      const {buffer, count} = await (sent.shift() as Promise<Group>);
      const ids = new Int32Array(buffer.getMappedRange(0, 4 * count).slice(0));
      buffer.unmap();
      rest.push(buffer);
      const now = performance.now();
      const each = (now - last) / count;
      // Half of the way, as one reading says little.
      if (last > 0) size = Math.max(1, Math.min(MOST, 2 * size, Math.round((size + PATIENCE / each) / 2)));
      last = now;
      return ids;
    },
    dispose: () => {
      for (const each of [...rest, ...(group ? [group.buffer] : [])]) each.destroy();
      for (const each of sent) each.then(({buffer}) => buffer.destroy(), () => undefined);
    },
  };
}
