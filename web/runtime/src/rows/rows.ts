/**
 * States that grow by rows where they lie (docs/specs/package.md): memory with room for more rows than there are, of which a run writes
 * the new ones alone. A file of its own, as few packages have such.
 */
import {type Ends, isOnDevice, type Keeper, type OnDevice} from '../session/bindings.ts';
import {take} from '../session/feeds.ts';
import type {Block, Home} from '../devices/home.ts';
import type {DimEntry, Manifest} from '../package/manifest.ts';
import {resolve} from '../session/memory.ts';
import type {Port} from '../session/ports.ts';
import {toStorage} from '../values/storage.ts';
import {arrayOf, type Output, type Tensor} from '../values/tensor.ts';
import type {DeviceTensor as AnyTensor} from '../tensors/device_tensor.ts';
import type {PartOptions} from '../tensors/part.ts';
import {bytesOf, type DType, GossamerError, LARGEST, product, type TensorData, within} from '../values/types.ts';
import type {GpuBufferHolder} from '../devices/webgpu/device.ts';

/** The least that is made, in rows: a short generation never moves its caches. */
const LEAST = 64;

type Extents = readonly number[];

/** How the rows of a tensor lie: `pieces` runs of `elements`, which start at multiples of `stride`. */
function piecesOf(shape: Extents, axis: number, room: number): {pieces: number; elements: number; stride: number} {
  const row = product(shape.slice(axis + 1));
  return {pieces: product(shape.slice(0, axis)), elements: row * (shape[axis] as number), stride: row * room};
}

/** Where an output's rows lie. */
export interface Room extends Keeper {
  /** The shape of its memory. */
  within(shape: Extents): number[];
  /** Its elements, of those of its memory. */
  taken(memory: TensorData, shape: Extents): TensorData;
}

/** Rows at the start of some memory that are not to be written again. */
interface Claim {
  readonly rows: number;
  /** The run that writes the last of them is not put in. */
  isPending: boolean;
}

export interface Rows {
  /**
   * Gives each state's input memory with room, which the run may write after its rows, and sets the dimensions that say how much. An
   * output of a run before stays in place where it has room and no other tensor has rows after its own. Feeds of the host are taken.
   */
  place(
    feeds: readonly (Tensor | OnDevice)[],
    dims: number[],
    ends: Ends,
    valuesOf: (dims: Extents) => Promise<Float64Array>,
  ): Promise<[(Tensor | OnDevice)[], Ends]>;
  /** Undefined for outputs that are not states. */
  roomOf(output: number, dims: Extents): Room | undefined;
}

/** For a package on its device. */
export async function openRows(manifest: Manifest, home: Home): Promise<Rows> {
  const {DeviceTensor, deviceOf, rangeOf} = await import('../tensors/tensors.ts');
  const device = deviceOf(home);

  const spaced = (shape: Extents, axis: number, room: number): number[] => shape.map((extent, at) => (at === axis ? room : extent));

  const taken = (memory: TensorData, shape: Extents, axis: number, room: number): TensorData => {
    const {pieces, elements, stride} = piecesOf(shape, axis, room);
    if (pieces === 1 || elements === stride) return memory.slice(0, product(shape));
    const dense = memory.slice(0, pieces * elements) as Float32Array;
    for (let at = 0; at < pieces; ++at) dense.set(memory.subarray(at * stride, at * stride + elements) as Float32Array, at * elements);
    return dense;
  };

  /** By memory, the rows of tensors in it and of outputs that runs will write there. */
  const claims = new WeakMap<Block, Set<Claim>>();
  const claimsOf = (block: Block): Set<Claim> => claims.get(block) ?? (claims.set(block, new Set()).get(block) as Set<Claim>);

  /** A tensor whose memory has room for more rows. */
  class RowsTensor extends DeviceTensor {
    readonly axis: number;
    /** In rows. */
    readonly room: number;
    readonly #done: Promise<unknown> | undefined;
    readonly #claims: Set<Claim>;
    readonly #claim: Claim;
    #dense: GPUBuffer | undefined;
    constructor(axis: number, room: number, ...[header, storage, memory, made]: Parameters<Keeper['keep']>) {
      super(device, header, storage, memory, made);
      this.axis = axis;
      this.room = room;
      this.#done = made;
      this.#claims = 'host' in memory ? new Set() : claimsOf(memory);
      const rows = header.shape[axis] as number;
      this.#claim = [...this.#claims].find((claim) => claim.isPending && claim.rows === rows) ?? {rows, isPending: false};
      this.#claim.isPending = false;
      this.#claims.add(this.#claim);
    }
    /** Whether a run may write after its rows: no other tensor has more of the same memory. */
    get isLongest(): boolean {
      return [...this.#claims].every(({rows}) => rows <= this.#claim.rows);
    }
    /** Its first rows, where they lie. */
    first(rows: number): RowsTensor {
      const {name, dtype, shape, axis, room, storage} = this;
      return new RowsTensor(axis, room, {name, dtype, shape: spaced(shape, axis, rows)}, storage, this.lend() as Block, this.#done as Promise<unknown>, false);
    }
    override dispose(...why: Parameters<AnyTensor['dispose']>): void {
      this.#claims.delete(this.#claim);
      this.#dense?.destroy();
      super.dispose(...why);
    }
    /** A copy without the room, made when it is first asked for. */
    override get gpuBuffer(): GPUBuffer | undefined {
      this.check();
      const {gpuDevice} = device;
      if (!gpuDevice || this.#dense) return this.#dense;
      const {shape, axis, room, storage} = this;
      const {pieces, elements, stride} = piecesOf(shape, axis, room);
      const size = bytesOf(storage);
      const bytes = elements * size;
      if (pieces > 1 && bytes % 4 !== 0) throw new GossamerError('unsupported', `rows of ${bytes} bytes cannot be copied on webgpu: read them by data()`);
      const gpu = gpuDevice.createBuffer({size: Math.max(16, 4 * Math.ceil((pieces * bytes) / 4)), usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST});
      const block = this.lend() as Block;
      home.backend.queue.copy(block.buffer, {extent: {bytes: gpu.size}, gpu, dispose: () => gpu.destroy()} as GpuBufferHolder, bytes, storage, {count: pieces, from: stride * size, to: bytes});
      device.blocks.release(block);
      return (this.#dense = gpu);
    }
    /** Other models take its values. */
    override get there(): boolean {
      return false;
    }
    override async data<T>({at}: PartOptions = {}): Promise<T> {
      const {dtype, shape, axis, room, name} = this;
      const header = {name, dtype, shape: spaced(shape, axis, room)};
      const {begin, count} = rangeOf(shape, at);
      const whole = new DeviceTensor(device, header, this.storage, this.lend(), this.#done);
      try {
        const all = taken(await whole.data(), shape, axis, room);
        return (at ? all.slice(begin, begin + count) : all) as T;
      } finally {
        whole.dispose();
      }
    }
  }

  const mine = (feed: object): feed is RowsTensor => feed instanceof RowsTensor;

  /** Memory with room that has what the feed has. */
  async function moved(feed: Tensor | AnyTensor, axis: number, room: number, storage: DType): Promise<Block> {
    const {dtype, shape} = feed;
    const block = await device.room(dtype, spaced(shape, axis, room), storage);
    claims.delete(block); // those of tensors that had it before
    const {pieces, elements, stride} = piecesOf(shape, axis, room);
    const {queue} = home.backend;
    const size = bytesOf(storage);
    try {
      if (pieces * elements === 0) return block;
      const here = isOnDevice(feed) && feed.device === device && (feed.there || mine(feed)) && feed.storage === storage;
      if (here && (elements * size) % 4 === 0 && (stride * size) % 4 === 0) {
        const before = await feed.lend();
        const from = size * (mine(feed) ? piecesOf(shape, axis, feed.room).stride : elements);
        queue.copy(before.buffer, block.buffer, elements * size, storage, {count: pieces, from, to: stride * size});
        device.blocks.release(before);
        return block;
      }
      const data = isOnDevice(feed) ? await feed.data() : feed.data;
      const whole = arrayOf(dtype, pieces * stride) as Float32Array;
      for (let at = 0; at < pieces; ++at) whole.set(data.subarray(at * elements, (at + 1) * elements) as Float32Array, at * stride);
      queue.write(block.buffer, toStorage(whole, dtype, storage, 'a state'), storage);
      return block;
    } catch (problem) {
      device.blocks.release(block);
      throw problem;
    }
  }

  async function placed(feed: Tensor | AnyTensor, {input = 0, axis}: DimEntry, room: number, rows: number, given: boolean): Promise<AnyTensor> {
    const {name = '', tensor = 0} = manifest.inputs[input] ?? {};
    const storage = manifest.tensors[tensor]?.storage ?? feed.dtype;
    const stays = mine(feed) && feed.room === room && feed.axis === axis && feed.device === device && feed.isLongest;
    const block = stays ? (feed.lend() as Block) : await moved(feed, axis, room, storage);
    claimsOf(block).add({rows, isPending: true});
    if (given && isOnDevice(feed) && !mine(feed)) feed.dispose('given away to a run');
    return new DeviceTensor(device, {name, dtype: feed.dtype, shape: feed.shape}, storage, block);
  }

  return {
    async place(feeds, dims, ends, valuesOf) {
      const all = feeds.map((feed) => (isOnDevice(feed) ? feed : take(feed))) as (Tensor | AnyTensor)[];
      const given = new Set(ends.given);
      const longer = new Map<number, number>();
      const grown = [...manifest.dims.entries()].filter(([, {output}]) => output !== undefined);
      // Mostly there is room, and these are the values of the run.
      for (const [at, {input = 0}] of grown) dims[at] = mine(all[input] as Tensor) ? (all[input] as RowsTensor).room : 0;
      const guess = dims.join();
      const values = await valuesOf(dims);
      for (const [at, dim] of grown) {
        const {rows = 0, input = 0, output = 0} = dim;
        const feed = all[input] as Tensor | AnyTensor;
        const wanted = within(resolve(rows, values), 'rows of a state', LARGEST, feed.shape[dim.axis]);
        const stay = ends.stay[output];
        const has = mine(feed) ? feed.room : 0;
        const more = Math.max(LEAST, ends.rows ?? 0, wanted + (wanted >> 1));
        const room = (dims[at] = !stay ? wanted : has >= wanted ? has : more);
        const {name} = manifest.inputs[input] as {name: string};
        if (stay) {
          const {shape} = manifest.inputs[input] as Port;
          longer.set(manifest.dims.findIndex((other) => other.output === undefined && other.name === shape[dim.axis]), room - wanted);
        }
        all[input] = await placed(feed, dim, room, wanted, given.has(name));
        given.add(name);
      }
      const most = longer.size > 0 ? dims.map((extent, at) => extent + (longer.get(at) ?? 0)) : undefined;
      return [all, {...ends, given: [...given], most, values: dims.join() === guess ? values : undefined}];
    },
    roomOf(output, dims) {
      const at = manifest.dims.findIndex((dim) => dim.output === output);
      if (at < 0) return undefined;
      const {axis} = manifest.dims[at] as DimEntry;
      const room = dims[at] ?? 0;
      return {
        within: (shape) => spaced(shape, axis, room),
        taken: (memory, shape) => taken(memory, shape, axis, room),
        keep: (...made): Output => new RowsTensor(axis, room, ...made),
      };
    },
  };
}
