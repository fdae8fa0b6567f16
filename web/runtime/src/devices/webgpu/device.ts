/** The WebGPU backend: one command buffer a run, bind groups made once, pipelines built in parallel. */
import type {
  Buffer,
  Device,
  Executable,
  Extent,
  Fence,
  Kernel,
  Launch,
  Pieces,
  Program,
  Queue,
  Read,
  Recording,
  Room,
} from '../device.ts';
import type {Lifetime} from '../lifetime.ts';
import {type DType, GossamerError} from '../../values/types.ts';
import {getGpu, type Gpu, gpuOf, missingFeature, type Pipeline} from './adapter.ts';
import {alive, checked, checkedParts} from './checked.ts';
import {buildPipelines} from './pipelines.ts';
import {type Copy, Staging} from './staging.ts';

export class GpuBufferHolder implements Buffer {
  readonly extent: Extent;
  readonly gpu: GPUBuffer;
  constructor(extent: Extent, gpu: GPUBuffer) {
    this.extent = extent;
    this.gpu = gpu;
  }
  dispose(): void {
    this.gpu.destroy();
  }
}

/** A launch with its bindings. */
export interface Step {
  readonly name: string;
  readonly pipeline: GPUComputePipeline;
  /** Undefined before the first launch: a run has none of kernels for other numbers of rows. */
  group: GPUBindGroup | undefined;
  readonly bind: () => GPUBindGroup;
  /** 0: no launch. */
  x: number;
  y: number;
}

export interface GpuRecording extends Recording {
  readonly steps: readonly Step[];
  /** Of all launches. */
  readonly scalars: GPUBuffer | undefined;
  /** What the device said to the first submission; undefined before. Afterwards the same commands are known to be valid. */
  accepted: Promise<unknown> | undefined;
}

class GpuQueue implements Queue {
  readonly #gpu: Gpu;
  readonly #staging: Staging;
  constructor(gpu: Gpu) {
    this.#gpu = gpu;
    this.#staging = new Staging(gpu, ({buffer}) => (buffer as GpuBufferHolder).gpu);
  }

  write(buffer: Buffer, data: Uint8Array, _storage: DType): void {
    this.writeParts(buffer, [data], 0);
  }

  writeParts(buffer: Buffer, parts: Iterable<Uint8Array>, at: number): void {
    const {queue} = alive(this.#gpu);
    const {gpu} = buffer as GpuBufferHolder;
    for (const data of parts) {
      const whole = data.length - (data.length % 4);
      if (whole > 0) queue.writeBuffer(gpu, at, data as Uint8Array<ArrayBuffer>, 0, whole);
      // Copies are of four bytes; f16 have two.
      if (whole < data.length) {
        const rest = new Uint8Array(4);
        rest.set(data.subarray(whole));
        queue.writeBuffer(gpu, at + whole, rest);
      }
      at += whole;
    }
  }

  copy(from: Buffer, to: Buffer, bytes: number, _storage: DType, {count, from: step, to: stride}: Pieces = {count: 1, from: 0, to: 0}): void {
    const [source, target] = [(from as GpuBufferHolder).gpu, (to as GpuBufferHolder).gpu];
    const size = Math.ceil(bytes / 4) * 4;
    this.#send([], (encoder) => {
      for (let at = 0; at < count; ++at) encoder.copyBufferToBuffer(source, at * step, target, at * stride, size);
    });
  }

  submit(recordings: readonly Recording[], reads: readonly Read[]): Fence {
    const gpu = this.#gpu;
    const {queue} = alive(gpu);
    const all = recordings as readonly GpuRecording[];
    const fresh = all.filter(({accepted}) => !accepted);
    const together = fresh.length === 0 && this.#staging.has(reads);
    if (fresh.length > 0) {
      const steps = all.flatMap((each) => each.steps);
      const checking = checkedParts(gpu, 'run', steps, (some) => this.#send([{steps: some}]));
      for (const each of fresh) {
        each.accepted = checking;
        checking.catch(() => (each.accepted = undefined));
      }
    } else if (!together && all.length > 0) {
      this.#send(all);
    }
    const data = this.#staging.read(reads, (copy) => this.#send(together ? all : [], copy));
    const accepted = Promise.all(all.map((each) => each.accepted as Promise<unknown>));
    accepted.catch(() => undefined);
    const {life} = gpu;
    return {
      accepted,
      data,
      get done() {
        // What was mapped is done.
        const ended = reads.length > 0 ? data.catch(() => life.check()) : life.guard(queue.onSubmittedWorkDone());
        return accepted.then(() => ended);
      },
    };
  }

  /** One command buffer with one pass. */
  #send(recordings: readonly Pick<GpuRecording, 'steps'>[], copy?: Copy): void {
    const device = alive(this.#gpu);
    const encoder = device.createCommandEncoder();
    if (recordings.length > 0) {
      const pass = encoder.beginComputePass();
      let pipeline: GPUComputePipeline | undefined;
      for (const {steps} of recordings) {
        for (const step of steps) {
          if (!step.group || step.x === 0) continue;
          if (step.pipeline !== pipeline) pass.setPipeline((pipeline = step.pipeline));
          pass.setBindGroup(0, step.group);
          pass.dispatchWorkgroups(step.x, step.y);
        }
      }
      pass.end();
    }
    copy?.(encoder);
    device.queue.submit([encoder.finish()]);
  }

  dispose(): void {
    this.#staging.dispose();
  }
}

/** All launches' scalars lie in one uniform buffer, each at an offset that a binding may have. */
const roomOf = ({limits}: GPUDevice, {scalars}: Launch): number => {
  const align = limits.minUniformBufferOffsetAlignment;
  return Math.ceil((scalars.length * 4) / align) * align;
};

function wordsOf(device: GPUDevice, launches: readonly Launch[]): Int32Array<ArrayBuffer> {
  const words = new Int32Array(launches.reduce((sum, launch) => sum + roomOf(device, launch), 0) / 4);
  let offset = 0;
  for (const launch of launches) {
    words.set(launch.scalars, offset);
    offset += roomOf(device, launch) / 4;
  }
  return words;
}

function groupsOf(range: number): {x: number; y: number} {
  const x = Math.min(range, 65535);
  return {x, y: x && Math.ceil(range / x)};
}

function update(device: GPUDevice, recording: GpuRecording, launches: readonly Launch[]): void {
  const {steps, scalars} = recording;
  steps.forEach((step, at) => {
    Object.assign(step, groupsOf(launches[at]?.range ?? 0));
    if (step.group || step.x === 0) return;
    step.group = step.bind();
    recording.accepted = undefined;
  });
  if (scalars) device.queue.writeBuffer(scalars, 0, wordsOf(device, launches));
}

function record(device: GPUDevice, pipelines: readonly Pipeline[], launches: readonly Launch[]): GpuRecording {
  const words = wordsOf(device, launches);
  const size = words.byteLength;
  const scalars = size > 0 ? device.createBuffer({size, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST}) : undefined;
  let offset = 0;
  const steps = launches.map((launch): Step => {
    const pipeline = pipelines[launch.kernel];
    if (!pipeline) throw new GossamerError('damaged', `no kernel ${launch.kernel}`);
    const entries: GPUBindGroupEntry[] = launch.buffers.map((buffer, binding) => ({
      binding,
      resource: {buffer: (buffer as GpuBufferHolder).gpu},
    }));
    if (scalars && launch.scalars.length > 0) {
      const size = Math.ceil(launch.scalars.length / 4) * 16;
      entries.push({binding: entries.length, resource: {buffer: scalars, offset, size}});
      offset += roomOf(device, launch);
    }
    const {name} = launch;
    const bind = (): GPUBindGroup => device.createBindGroup({layout: pipeline.layout, entries, label: name});
    return {name, pipeline: pipeline.pipeline, group: launch.range > 0 ? bind() : undefined, bind, ...groupsOf(launch.range)};
  });
  if (scalars) device.queue.writeBuffer(scalars, 0, words);
  return {steps, scalars, accepted: undefined, dispose: () => scalars?.destroy()};
}

export class WebGpuDevice implements Device {
  readonly kind = 'webgpu';
  readonly adapter: string;
  readonly software: boolean;
  readonly threads = 1;
  readonly fallbacks = [];
  readonly queue: GpuQueue;
  readonly life: Lifetime;
  readonly owner: object;
  readonly gpu: Gpu;
  constructor(gpu: Gpu) {
    this.gpu = gpu;
    this.life = gpu.life;
    this.owner = gpu;
    this.adapter = gpu.name;
    this.software = gpu.software;
    this.queue = new GpuQueue(gpu);
  }

  async createBuffers(rooms: readonly Room[]): Promise<Buffer[]> {
    const device = alive(this.gpu);
    const {maxStorageBufferBindingSize, maxBufferSize} = device.limits;
    const limit = Math.min(maxStorageBufferBindingSize, maxBufferSize);
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    const all = rooms.map(({extent, name}) => {
      const bytes = 'bytes' in extent ? extent.bytes : 0;
      const size = Math.max(16, Math.ceil(bytes / 16) * 16);
      if (size > limit) {
        throw new GossamerError(
          'unsupported',
          `${name} takes ${bytes} bytes, a WebGPU buffer here holds ${limit}`,
        );
      }
      return {extent, name, size};
    });
    const made = await Promise.allSettled(
      all.map(({extent, name, size}) =>
        checked(this.gpu, `${name}, ${size} bytes`, () => {
          return new GpuBufferHolder(extent, device.createBuffer({size, usage}));
        }),
      ),
    );
    return made.map((each) => {
      if (each.status === 'fulfilled') return each.value;
      made.forEach((other) => other.status === 'fulfilled' && other.value.dispose());
      throw each.reason;
    });
  }

  prepare(kernel: Kernel): () => void {
    const building = (async () => buildPipelines(this.gpu, [kernel], () => undefined))();
    building.catch(() => undefined); // createExecutable() reports it
    return () => void building.then(([, release]) => release(), () => undefined);
  }

  async createExecutable({kernels}: Program, progress: (done: number) => void): Promise<Executable> {
    const gpu = this.gpu;
    const [pipelines, dispose] = await buildPipelines(gpu, kernels, progress);
    return {
      record: (launches) =>
        checkedParts(gpu, 'bindings', launches, (some) => record(gpu.device, pipelines, some)),
      update: (recording, launches) => update(alive(gpu), recording as GpuRecording, launches),
      dispose,
    };
  }

  lacking(needs: readonly string[]): string | undefined {
    return missingFeature(this.gpu, needs);
  }

  dispose(): void {
    this.queue.dispose();
  }
}

/** On the page's device, or a given one. Throws 'unsupported' when there is no WebGPU. */
export async function open(given?: GPUDevice): Promise<Device> {
  return new WebGpuDevice(await (given ? gpuOf(given) : getGpu()));
}
