/** A loaded package on a device: memory, recordings for each tuple of dimensions, and one run after the other. */
import type {Buffer, Device, Executable, Extent, Launch, Recording} from './device.ts';
import {orderFeeds, readDims} from './feeds.ts';
import type {LaunchEntry, Manifest, Num, SlotEntry, TensorEntry} from './manifest.ts';
import {readSafetensors} from './safetensors.ts';
import {decode, fromStorage, toStorage} from './storage.ts';
import type {Tensor} from './tensor.ts';
import {BYTES, type DType, GossamerError, product, shapeText, type TensorData} from './types.ts';

export interface RawOutput {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: Promise<TensorData>;
}

/** Everything that depends on the values of the dynamic dimensions. */
interface Specialization {
  readonly values: Int32Array;
  readonly extents: readonly Extent[];
  readonly shapes: readonly (readonly number[])[];
  recording: Recording | undefined;
}

/** Recordings kept for other dimensions. */
const KEPT = 16;

const sizeOf = (extent: Extent): number =>
  'bytes' in extent ? extent.bytes : extent.width * extent.height * extent.layers * 16;

const static_ = (slot: SlotEntry): boolean =>
  typeof slot.bytes !== 'object' && typeof slot.height !== 'object';

export class Session {
  readonly #manifest: Manifest;
  readonly #device: Device;
  readonly #executable: Executable;
  readonly #buffers: (Buffer | undefined)[];
  readonly #cache = new Map<string, Specialization>();
  readonly #spent = new Set<number>();
  #last: Promise<unknown> = Promise.resolve();
  #disposed = false;

  private constructor(manifest: Manifest, device: Device, executable: Executable) {
    this.#manifest = manifest;
    this.#device = device;
    this.#executable = executable;
    this.#buffers = manifest.slots.map(() => undefined);
  }

  /** Places the memory, uploads the weights and runs the init launches. */
  static async create(
    manifest: Manifest,
    device: Device,
    executable: Executable,
    weights: Uint8Array | undefined,
    progress: (done: number) => void,
  ): Promise<Session> {
    const session = new Session(manifest, device, executable);
    try {
      await session.#start(weights, progress);
    } catch (problem) {
      session.dispose();
      throw problem;
    }
    return session;
  }

  async #start(file: Uint8Array | undefined, progress: (done: number) => void): Promise<void> {
    const {slots, weights, init, planValues} = this.#manifest;
    // Memory that is known now is there from the start; the rest grows with the first run.
    await this.#provide(
      slots.map((slot) => (static_(slot) ? this.#extent(slot, undefined) : undefined)),
    );
    const stored = file ? readSafetensors(file, 'weights.safetensors') : new Map<string, never>();
    weights.forEach((weight, at) => {
      const found = stored.get(weight.name);
      if (
        found?.dtype !== weight.dtype ||
        shapeText(found.shape) !== shapeText(weight.shape) ||
        found.bytes.length !== product(weight.shape) * BYTES[weight.dtype]
      ) {
        const has = found ? `${found.dtype} ${shapeText(found.shape)}` : 'nothing';
        throw new GossamerError(
          'damaged',
          `weights.safetensors: "${weight.name}" is ${has}, the manifest wants ` +
            `${weight.dtype} ${shapeText(weight.shape)}`,
        );
      }
      const tensor = this.#tensor(weight.tensor);
      const bytes =
        weight.dtype === tensor.storage
          ? found.bytes
          : toStorage(
              decode(found.bytes, weight.dtype),
              weight.dtype,
              tensor.storage,
              `weight "${weight.name}"`,
            );
      this.#write(weight.tensor, bytes);
      progress(at + 1);
    });
    if (init.length > 0) {
      if (planValues > 0 && init.some((launch) => !this.#isStatic(launch))) {
        throw new GossamerError('damaged', 'manifest.json: an init launch has a dynamic size');
      }
      const recording = await this.#executable.record(this.#launches(init, undefined));
      await this.#device.queue.submit(recording).done;
      recording.dispose();
      this.#releaseSpent();
    }
  }

  /** Frees what only init needed, such as weights that were packed into another layout. */
  #releaseSpent(): void {
    const {run, inputs, outputs} = this.#manifest;
    const used = new Set(
      [...run.flatMap(({tensors}) => tensors), ...[...inputs, ...outputs].map(({tensor}) => tensor)]
        .map((tensor) => this.#tensor(tensor).slot),
    );
    this.#buffers.forEach((buffer, slot) => {
      if (used.has(slot)) return;
      buffer?.dispose();
      this.#buffers[slot] = undefined;
      this.#spent.add(slot);
    });
  }

  #isStatic(launch: LaunchEntry): boolean {
    return [launch.range, ...launch.scalars].every((number) => typeof number === 'number');
  }

  #tensor(index: number): TensorEntry {
    return this.#manifest.tensors[index] as TensorEntry;
  }

  #buffer(tensor: number): Buffer {
    const buffer = this.#buffers[this.#tensor(tensor).slot];
    if (!buffer) throw new GossamerError('damaged', `tensor ${tensor} has no memory yet`);
    return buffer;
  }

  #write(tensor: number, bytes: Uint8Array): void {
    const buffer = this.#buffer(tensor);
    if (bytes.length > sizeOf(buffer.extent)) {
      throw new GossamerError(
        'damaged',
        `tensor "${this.#tensor(tensor).name}" takes ${bytes.length} bytes, ` +
          `its slot has ${sizeOf(buffer.extent)}`,
      );
    }
    this.#device.queue.write(buffer, bytes, this.#tensor(tensor).storage);
  }

  #extent(slot: SlotEntry, values: Int32Array | undefined): Extent {
    const {width, height, layers, bytes} = slot;
    if (width !== undefined) {
      return {width, height: resolve(height ?? 0, values), layers: layers ?? 1};
    }
    return {bytes: resolve(bytes ?? 0, values)};
  }

  #launches(entries: readonly LaunchEntry[], values: Int32Array | undefined): Launch[] {
    return entries.map(({kernel, tensors, scalars, range}) => ({
      kernel,
      buffers: tensors.map((tensor) => this.#buffer(tensor)),
      storage: tensors.map((tensor) => this.#tensor(tensor).storage),
      scalars: scalars.map((scalar) => resolve(scalar, values)),
      range: resolve(range, values),
    }));
  }

  /** Makes every slot at least as large as wanted. What grows takes all recordings with it. */
  async #provide(extents: readonly (Extent | undefined)[]): Promise<void> {
    const grow = extents.flatMap((extent, slot) => {
      const has = this.#buffers[slot]?.extent;
      return extent && !this.#spent.has(slot) && (!has || sizeOf(extent) > sizeOf(has)) ? [{slot, extent}] : [];
    });
    if (grow.length === 0) return;
    for (const known of this.#cache.values()) {
      known.recording?.dispose();
      known.recording = undefined;
    }
    for (const {slot} of grow) {
      this.#buffers[slot]?.dispose();
      this.#buffers[slot] = undefined;
    }
    const made = await this.#device.createBuffers(grow.map(({extent}) => extent));
    made.forEach((buffer, at) => (this.#buffers[grow[at]?.slot ?? 0] = buffer));
  }

  async #specialize(dims: readonly number[]): Promise<Specialization> {
    const key = dims.join();
    const known = this.#cache.get(key);
    if (known) {
      this.#cache.delete(key);
      this.#cache.set(key, known); // the youngest again
      return known;
    }
    const {planValues, checks, slots, outputs} = this.#manifest;
    const values = planValues > 0 ? await this.#executable.plan(dims) : new Int32Array();
    for (const {value, message} of checks) {
      if (resolve(value, values) === 0) throw new GossamerError('input', message);
    }
    const made: Specialization = {
      values,
      extents: slots.map((slot) => this.#extent(slot, values)),
      shapes: outputs.map(({shape}) => shape.map((extent) => resolve(extent as Num, values))),
      recording: undefined,
    };
    const oldest = this.#cache.keys().next().value;
    if (this.#cache.size >= KEPT && oldest !== undefined) {
      this.#cache.get(oldest)?.recording?.dispose();
      this.#cache.delete(oldest);
    }
    this.#cache.set(key, made);
    return made;
  }

  /** Checks the feeds at once; the runs themselves queue up. */
  async run(feeds: Readonly<Record<string, Tensor>>): Promise<RawOutput[]> {
    if (this.#disposed) throw new GossamerError('disposed', 'the model was disposed');
    const ordered = orderFeeds(this.#manifest, feeds);
    const dims = readDims(this.#manifest, ordered);
    const result = this.#last.then(() => this.#run(ordered, dims));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #run(feeds: readonly Tensor[], dims: readonly number[]): Promise<RawOutput[]> {
    if (this.#disposed) throw new GossamerError('disposed', 'the model was disposed');
    const {inputs, outputs, run} = this.#manifest;
    const special = await this.#specialize(dims);
    await this.#provide(special.extents);
    special.recording ??= await this.#executable.record(this.#launches(run, special.values));
    inputs.forEach((port, at) => {
      const feed = feeds[at] as Tensor;
      const {storage} = this.#tensor(port.tensor);
      this.#write(port.tensor, toStorage(feed.data, port.dtype, storage, `input "${port.name}"`));
    });
    const {queue} = this.#device;
    const fence = queue.submit(special.recording);
    // Copies are taken now: the next run overwrites the slots.
    const results = outputs.map((port, at): RawOutput => {
      const shape = special.shapes[at] ?? [];
      const {storage} = this.#tensor(port.tensor);
      const bytes = queue.read(this.#buffer(port.tensor), product(shape) * BYTES[storage], storage);
      const data = bytes.then((stored) => fromStorage(stored, storage, port.dtype));
      data.catch(() => undefined);
      return {name: port.name, dtype: port.dtype, shape, data};
    });
    await fence.done;
    return results;
  }

  /** Bytes of device memory: what lasts, and what runs share. */
  memory(): {persistent: number; transient: number} {
    let persistent = 0;
    let transient = 0;
    this.#buffers.forEach((buffer, slot) => {
      const bytes = buffer ? sizeOf(buffer.extent) : 0;
      if (this.#manifest.slots[slot]?.persistent) persistent += bytes;
      else transient += bytes;
    });
    return {persistent, transient};
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    for (const {recording} of this.#cache.values()) recording?.dispose();
    this.#cache.clear();
    this.#buffers.forEach((buffer) => buffer?.dispose());
    this.#executable.dispose();
    this.#device.dispose();
  }
}

function resolve(number: Num, values: Int32Array | undefined): number {
  if (typeof number === 'number') return number;
  const value = values?.[number.plan];
  if (value === undefined) throw new GossamerError('damaged', 'manifest.json: a plan value is missing');
  return value;
}
