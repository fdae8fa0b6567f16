/** Tensors that stay on a device, and the devices that models and tensors share. */
import {type Fed, type Header, type Held, isHeld, isOnDevice, type Keeper, type OnDevice, type Sites} from '../session/bindings.ts';
import {KINDS, openBackend} from '../devices/choose.ts';
import type {Extent} from '../devices/device.ts';
import {type Block, Home} from '../devices/home.ts';
import type {ImageOptions, ImageSource} from '../image/image.ts';
import {take} from '../session/feeds.ts';
import type {Manifest} from '../package/manifest.ts';
import {fromStorage, toStorage} from '../values/storage.ts';
import {type StringTensor, tensor as hostTensor, type Tensor} from '../values/tensor.ts';
import type {WebGlDevice} from '../devices/webgl/device.ts';
import type {GpuBufferHolder, WebGpuDevice} from '../devices/webgpu/device.ts';
import {Blocks} from './blocks.ts';
import {type PartOptions, rangeOf} from './part.ts';
import {about, bytesOf, type DeviceKind, type DType, GossamerError, product, shapeText, type TensorData} from '../values/types.ts';

/** Element types as models have them on a kind of device; undefined: it has no such type. */
function storageOf(kind: DeviceKind, dtype: DType): DType | undefined {
  if (kind === 'wasm') return dtype;
  if (dtype === 'f64') return undefined;
  return /^b?f(16|32)$/.test(dtype) ? 'f32' : /^u(32|64)$/.test(dtype) ? 'u32' : 'i32';
}

/** STORAGE and COPY_SRC. */
const GPU_USAGE = 0x84;

/** The memory that a number of elements takes, as in packages of known shapes. */
function extentOf(kind: DeviceKind, elements: number, storage: DType): Extent {
  if (kind !== 'webgl') return {bytes: elements * bytesOf(storage)};
  const texels = Math.ceil(elements / 4);
  let width = 1;
  while (width * width < texels && width < 4096) width *= 2;
  return {width, height: Math.ceil(texels / width), layers: 1};
}

const gone = (what: string): GossamerError => new GossamerError('disposed', what);

/** Frees the memory of tensors that are unreachable. */
const forgotten = new FinalizationRegistry<() => void>((release) => release());

/**
 * A tensor in a device's memory: a feed of any model on that device. Runs never write to it, so it holds what it holds until
 * dispose() or until it is given away (`donate`).
 */
export class DeviceTensor implements OnDevice {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly device: ComputeDevice;
  /** @internal The type that its elements have on the device. */
  readonly storage: DType;
  /** Undefined: the values are on the host alone. A promise until it is had. */
  #block: Block | Promise<Block> | undefined;
  /** Users that wait for it. */
  #claims = 0;
  #host: Promise<TensorData> | undefined;
  /** The run that computes it; rejects with its error. */
  readonly #made: Promise<unknown> | undefined;
  /** Read once, then only on the host. */
  readonly #once: boolean;
  /** What became of it. */
  #over: 'disposed of' | 'given away to a run' | undefined;

  /** @internal Use ComputeDevice.tensor(), or run() with `location`. */
  constructor(
    device: ComputeDevice,
    {name = '', dtype, shape}: Header,
    storage: DType,
    memory: Block | Promise<Block> | {readonly host: Promise<TensorData>},
    made?: Promise<unknown>,
    once = false,
  ) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.device = device;
    this.storage = storage;
    this.#made = made;
    this.#once = once;
    const {blocks} = device;
    ++blocks.tensors;
    if ('host' in memory) this.#host = memory.host;
    else this.#block = memory;
    if (memory instanceof Promise) {
      memory.then(
        (block) => {
          block.users += this.#claims;
          if (this.#over) blocks.release(block);
          else this.#have((this.#block = block));
        },
        () => undefined, // callers that ask for it get the error
      );
    } else if (this.#block) this.#have(memory as Block);
  }

  #have(block: Block): void {
    const {blocks} = this.device;
    const forget = (): void => {
      --blocks.tensors;
      blocks.release(block);
    };
    if (this.device.collects) forgotten.register(this, forget, this);
  }

  /**
   * Row-major values, as those of an Output; with `at`, only that part is copied from the device. Rejects with 'input', 'disposed', 'lost',
   * or what went wrong in the run that made it.
   */
  async data<T extends TensorData | string[] = TensorData>({at}: PartOptions = {}): Promise<T> {
    this.check();
    const {begin, count} = rangeOf(this.shape, at);
    if (!this.#host) {
      if (!this.#once) return (await this.#read(this.lend(), begin, count)) as T;
      const values = this.#read(this.lend(), 0, product(this.shape));
      values.catch(() => undefined);
      this.#host = values;
      this.#letGo();
    }
    const all = await this.#host;
    return (at ? all.slice(begin, begin + count) : all) as T;
  }

  async #read(held: Block | Promise<Block>, begin: number, count: number): Promise<TensorData> {
    const {device, storage} = this;
    const {backend, over} = device.home;
    const {blocks} = device;
    try {
      const {buffer} = held instanceof Promise ? await held : held;
      const size = bytesOf(storage);
      // Words are read.
      const before = (begin * size) % 4;
      const {data} = backend.queue.submit([], [{buffer, bytes: before + count * size, storage, offset: begin * size - before}]);
      data.catch(() => undefined);
      await this.#made;
      const [bytes = new Uint8Array()] = await data;
      return fromStorage(before ? bytes.slice(before) : bytes, storage, this.dtype);
    } catch (problem) {
      return await backend.life.verdict(over ?? about(this.#what, problem));
    } finally {
      Promise.resolve(held).then((block) => blocks.release(block), () => undefined);
    }
  }

  get #what(): string {
    return this.name ? `tensor "${this.name}"` : `a tensor of ${this.dtype} ${shapeText(this.shape)}`;
  }

  /** @internal Throws 'disposed' or 'lost'. */
  check(): void {
    if (this.#over) throw gone(`${this.#what} was ${this.#over}`);
    if (this.#block) this.device.home.check();
  }

  /** Its memory on webgpu, as its elements lie there (docs/specs/package.md): valid until the tensor goes, and not to be written. */
  get gpuBuffer(): GPUBuffer | undefined {
    this.check();
    const {buffer} = (this.#block ?? {}) as Partial<Block>;
    return (buffer as Partial<GpuBufferHolder> | undefined)?.gpu;
  }

  /** @internal Whether it is on the device. */
  get there(): boolean {
    return this.#block !== undefined;
  }

  /** @internal Its memory, for one user more. */
  lend(): Block | Promise<Block> {
    this.check();
    const block = this.#block as Block | Promise<Block>;
    if (block instanceof Promise) ++this.#claims;
    else ++block.users;
    return block;
  }

  /** @internal */
  get home(): Home {
    return this.device.home;
  }

  /** @internal */
  hold(feeds: readonly (Tensor | OnDevice)[], given: readonly string[], manifest: Manifest, sites: Sites, home: Home): Fed[] | Promise<Fed[]> {
    return holdAll(feeds as readonly (Tensor | DeviceTensor)[], given, manifest.inputs, sites.inputs, home);
  }

  #letGo(): void {
    if (this.device.collects) forgotten.unregister(this);
    if (this.#block && !(this.#block instanceof Promise)) this.device.blocks.release(this.#block);
    this.#block = undefined;
  }

  /** Gives the memory back; runs that were asked for before still read it. */
  dispose(why: 'disposed of' | 'given away to a run' = 'disposed of'): void {
    if (this.#over) return;
    this.#over = why;
    this.#letGo();
    this.#host = undefined;
    --this.device.blocks.tensors;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** As OnDevice.hold(). */
function holdAll(
  feeds: readonly (Tensor | DeviceTensor)[],
  given: readonly string[],
  ports: Manifest['inputs'],
  sites: Sites['inputs'],
  {backend: {owner}}: Home,
): Fed[] | Promise<Fed[]> {
  feeds.forEach((feed, at) => {
    if (!isOnDevice(feed)) return;
    try {
      feed.check();
      const {backend} = feed.home;
      if (backend.owner !== owner) throw new GossamerError('input', `the tensor is on another device (${backend.adapter})`);
    } catch (problem) {
      throw about(`input "${ports[at]?.name}"`, problem);
    }
  });
  let late = false;
  const all = feeds.map((feed, at): Fed | Promise<Fed> => {
    if (!isOnDevice(feed)) return feed;
    const {dtype, shape} = feed;
    const {direct = false, storage} = sites[at] ?? {};
    const gives = given.includes(ports[at]?.name ?? '');
    const have = (block: Block): Held => ({dtype, shape, block, given: gives, home: feed.home, held: true});
    const block = direct && feed.there && feed.storage === storage ? feed.lend() : undefined;
    const found = !block
      ? feed.data().then((data) => ({dtype, shape, data}))
      : block instanceof Promise
        ? block.then(have)
        : have(block);
    if (gives) feed.dispose('given away to a run');
    late ||= found instanceof Promise;
    return found;
  });
  if (!late) return all as Fed[];
  // Arrays are the caller's again when run() has returned.
  const taken = all.map(async (feed) => (feed instanceof Promise || isHeld(feed) ? feed : take(feed)));
  return Promise.all(taken).catch((problem: unknown) => {
    const release = (fed: Fed): unknown => isHeld(fed) && fed.home.pool?.release(fed.block);
    for (const each of all) Promise.resolve(each).then(release, () => undefined);
    throw problem;
  });
}

/** A device that several models share, and the tensors on it. */
export class ComputeDevice implements Keeper {
  /** @internal */
  readonly home: Home;
  /** @internal */
  readonly blocks: Blocks;
  /** @internal Frees memory of unreachable tensors. False: the owner frees it, which saves the collector's work. */
  collects = true;

  /** @internal Use openDevice(). */
  constructor(home: Home) {
    this.home = home;
    home.pool = this.blocks = new Blocks(home.backend);
  }

  get kind(): DeviceKind {
    return this.home.backend.kind;
  }

  /** The hardware or engine, for people. */
  get adapter(): string {
    return this.home.backend.adapter;
  }

  get threads(): number {
    return this.home.backend.threads;
  }

  /** A tensor with these values, as tensor() takes them; the array is the caller's again at once. Throws 'input'. */
  tensor(
    data: ArrayLike<number> | ArrayLike<bigint> | ArrayLike<boolean>,
    {dtype, shape}: {readonly dtype?: DType | undefined; readonly shape?: readonly number[] | undefined} = {},
  ): DeviceTensor {
    return this.put(hostTensor(data, shape, dtype));
  }

  /** @internal */
  put(given: Tensor | StringTensor): DeviceTensor {
    if (given.dtype === 'string') throw new GossamerError('input', 'strings are on the host alone');
    const {dtype, shape, data} = given;
    const storage = storageOf(this.kind, dtype);
    if (!storage) return new DeviceTensor(this, given, dtype, {host: Promise.resolve(data.slice())});
    const bytes = toStorage(data, dtype, storage, 'a tensor');
    const made = this.room(dtype, shape, storage);
    const late = made instanceof Promise && bytes.slice();
    const write = (block: Block): Block => {
      this.home.backend.queue.write(block.buffer, late || bytes, storage);
      return block;
    };
    return new DeviceTensor(this, given, storage, made instanceof Promise ? made.then(write) : write(made));
  }

  /**
   * A buffer of the caller's as a tensor, on webgpu: STORAGE and COPY_SRC, of this device's GPUDevice, with its elements as
   * package.md has them there (f32, i32, u32; others widened to these). It stays the caller's: not destroyed, and read when
   * runs are. Throws 'input'.
   */
  fromBuffer(gpu: GPUBuffer, {dtype = 'f32', shape}: {readonly dtype?: DType | undefined; readonly shape: readonly number[]}): DeviceTensor {
    const storage = this.kind === 'webgpu' ? storageOf('webgpu', dtype) : undefined;
    const bytes = product(shape) * bytesOf(storage ?? dtype);
    if (!storage || gpu.size < bytes || (gpu.usage & GPU_USAGE) !== GPU_USAGE) {
      const has = `a buffer of ${gpu.size} bytes with usage ${gpu.usage} on ${this.kind}`;
      throw new GossamerError('input', `a tensor of ${dtype} ${shapeText(shape)} is ${bytes} bytes of STORAGE and COPY_SRC on webgpu, not ${has}`);
    }
    // Kernels read vectors of 16 bytes: parts that do not start at a multiple are copied.
    const extent = {bytes: gpu.size - (gpu.size % 16)};
    const buffer = {extent, gpu, dispose: () => undefined};
    return new DeviceTensor(this, {dtype, shape: [...shape]}, storage, this.blocks.wrap(buffer));
  }

  /**
   * A picture as a tensor, resized and normalised where tensors lie (docs/specs/preprocessing.md): on GPUs within 1e-4 of what a
   * page computes. Fetches image/image.js. The picture is to stay until this resolves. Rejects with 'input'.
   */
  async image(source: ImageSource, options: ImageOptions): Promise<DeviceTensor> {
    this.home.check();
    const {prepare} = await import('../image/image.ts');
    try {
      const {dtype, shape, tensor, draw} = await prepare(this.home, source, options);
      if (tensor) return this.put(tensor);
      const storage = storageOf(this.kind, dtype) as DType;
      const block = await this.room(dtype, shape, storage);
      draw?.(block.buffer, storage);
      return new DeviceTensor(this, {dtype, shape}, storage, block);
    } catch (problem) {
      return await this.home.backend.life.verdict(this.home.over ?? problem);
    }
  }

  /** On webgpu. */
  get gpuDevice(): GPUDevice | undefined {
    return (this.home.backend as Partial<WebGpuDevice>).gpu?.device;
  }

  /** On webgl: textures of images may be its own. Its state is to be left as it is. */
  get context(): WebGL2RenderingContext | undefined {
    return (this.home.backend as Partial<WebGlDevice>).context?.gl;
  }

  /** A tensor of any values. */
  empty({dtype = 'f32', shape}: {readonly dtype?: DType | undefined; readonly shape: readonly number[]}): DeviceTensor {
    const storage = storageOf(this.kind, dtype);
    if (!storage) return this.tensor(new Float64Array(product(shape)), {shape});
    return new DeviceTensor(this, {dtype, shape: [...shape]}, storage, this.room(dtype, shape, storage));
  }

  /** @internal */
  keep(...[header, storage, memory, made, once]: Parameters<Keeper['keep']>): DeviceTensor {
    return new DeviceTensor(this, header, storage, memory, made, once);
  }

  /** @internal Memory for a tensor. */
  room(dtype: DType, shape: readonly number[], storage: DType): Block | Promise<Block> {
    this.home.check();
    const what = `a tensor of ${dtype} ${shapeText(shape)}`;
    return this.blocks.take(extentOf(this.kind, product(shape), storage), storage, what);
  }

  /** Tensors that are there, the bytes that they have, and bytes that wait for the next. */
  memory(): {readonly tensors: number; readonly bytes: number; readonly pooled: number} {
    const {tensors, bytes, pooled} = this.blocks;
    return {tensors, bytes, pooled};
  }

  /** Frees its memory and stops its threads: tensors and models on it are gone. */
  dispose(): void {
    if (!this.home.over) this.home.dispose(gone('the device was disposed'));
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

const devices = new WeakMap<Home, ComputeDevice>();

/** The device for tensors of a model's home. */
export function deviceOf(home: Home): ComputeDevice {
  let device = devices.get(home);
  if (!device) devices.set(home, (device = new ComputeDevice(home)));
  return device;
}

export async function open(kind: DeviceKind | GPUDevice, threads: number | undefined): Promise<ComputeDevice> {
  if (typeof kind === 'string' && !KINDS.includes(kind)) throw new GossamerError('input', `"${String(kind)}" is no device`);
  return deviceOf(new Home(await openBackend(kind, threads), threads));
}
