/** The WebGPU backend: one compute pass a run, bind groups made once, pipelines built in parallel. */
import type {
  Buffer,
  Device,
  Executable,
  Extent,
  Fence,
  Launch,
  Program,
  Queue,
  Recording,
} from '../device.ts';
import {createPlan, type PlanMemory} from '../plan_module.ts';
import {type DType, GossamerError} from '../types.ts';
import {getGpu, type Gpu, missingFeature} from './adapter.ts';
import {buildPipelines, type Pipeline} from './pipelines.ts';

const alive = (gpu: Gpu): GPUDevice => {
  if (gpu.lost !== undefined) throw new GossamerError('lost', gpu.lost);
  return gpu.device;
};

/** Runs `work` and rejects with what the device complained about meanwhile. */
async function checked<T>(gpu: Gpu, what: string, work: () => T): Promise<T> {
  const device = alive(gpu);
  device.pushErrorScope('internal');
  device.pushErrorScope('out-of-memory');
  device.pushErrorScope('validation');
  let result: T;
  const scopes: Promise<GPUError | null>[] = [];
  try {
    result = work();
  } finally {
    for (let at = 0; at < 3; ++at) scopes.push(device.popErrorScope());
  }
  const [validation, memory, internal] = await Promise.all(scopes);
  if (gpu.lost !== undefined) throw new GossamerError('lost', gpu.lost);
  if (memory) throw new GossamerError('out-of-memory', `${what}: ${memory.message}`);
  const problem = validation ?? internal;
  if (problem) throw new GossamerError('kernel', `${what}: ${problem.message}`);
  return result;
}

class GpuBufferHolder implements Buffer {
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

interface Step {
  readonly pipeline: GPUComputePipeline;
  readonly group: GPUBindGroup;
  readonly x: number;
  readonly y: number;
}

class GpuRecording implements Recording {
  readonly steps: readonly Step[];
  readonly #scalars: GPUBuffer | undefined;
  /** The first submission is watched: afterwards the same commands are known to be valid. */
  watched = false;
  constructor(steps: readonly Step[], scalars: GPUBuffer | undefined) {
    this.steps = steps;
    this.#scalars = scalars;
  }
  dispose(): void {
    this.#scalars?.destroy();
  }
}

class GpuQueue implements Queue {
  readonly #gpu: Gpu;
  /** Staging buffers at rest, by size. */
  readonly #staging = new Map<number, GPUBuffer[]>();
  constructor(gpu: Gpu) {
    this.#gpu = gpu;
  }

  write(buffer: Buffer, data: Uint8Array, _storage: DType): void {
    if (data.byteLength === 0) return;
    const {queue} = alive(this.#gpu);
    const whole = data.byteLength & ~3;
    const {gpu} = buffer as GpuBufferHolder;
    queue.writeBuffer(gpu, 0, data as Uint8Array<ArrayBuffer>, 0, whole);
    // Copies are of four bytes; f16 have two.
    if (whole < data.byteLength) {
      const rest = new Uint8Array(4);
      rest.set(data.subarray(whole));
      queue.writeBuffer(gpu, whole, rest);
    }
  }

  submit(recording: Recording): Fence {
    const device = alive(this.#gpu);
    const {steps} = recording as GpuRecording;
    const work = (): void => {
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      let pipeline: GPUComputePipeline | undefined;
      for (const step of steps) {
        if (step.pipeline !== pipeline) pass.setPipeline((pipeline = step.pipeline));
        pass.setBindGroup(0, step.group);
        pass.dispatchWorkgroups(step.x, step.y);
      }
      pass.end();
      device.queue.submit([encoder.finish()]);
    };
    let errors: Promise<void> = Promise.resolve();
    if ((recording as GpuRecording).watched) {
      work();
    } else {
      (recording as GpuRecording).watched = true;
      errors = checked(this.#gpu, 'run', work);
      errors.catch(() => undefined);
    }
    return {
      accepted: errors,
      get done() {
        return errors.then(() => device.queue.onSubmittedWorkDone());
      },
    };
  }

  async read(buffer: Buffer, bytes: number, _storage: DType): Promise<Uint8Array> {
    if (bytes === 0) return new Uint8Array();
    const device = alive(this.#gpu);
    const size = Math.ceil(bytes / 4) * 4;
    const rest = this.#staging.get(size) ?? [];
    this.#staging.set(size, rest);
    const staging =
      rest.pop() ??
      device.createBuffer({size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST});
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer((buffer as GpuBufferHolder).gpu, 0, staging, 0, size);
    device.queue.submit([encoder.finish()]);
    try {
      await staging.mapAsync(GPUMapMode.READ);
    } catch (problem) {
      throw new GossamerError('lost', this.#gpu.lost ?? 'the result could not be read', {
        cause: problem,
      });
    }
    const copy = new Uint8Array(staging.getMappedRange().slice(0, bytes));
    staging.unmap();
    if (rest.length < 4) rest.push(staging);
    else staging.destroy();
    return copy;
  }

  dispose(): void {
    for (const rest of this.#staging.values()) rest.forEach((staging) => staging.destroy());
    this.#staging.clear();
  }
}

class GpuExecutable implements Executable {
  readonly #gpu: Gpu;
  readonly #pipelines: readonly Pipeline[];
  readonly #plan: PlanMemory | undefined;
  constructor(gpu: Gpu, pipelines: readonly Pipeline[], plan: PlanMemory | undefined) {
    this.#gpu = gpu;
    this.#pipelines = pipelines;
    this.#plan = plan;
  }

  plan(segment: number, dims: readonly number[]): Promise<Int32Array> {
    return Promise.resolve(this.#plan?.evaluate(segment, dims) ?? new Int32Array());
  }

  record(launches: readonly Launch[]): Promise<Recording> {
    return checked(this.#gpu, 'bindings', () => this.#record(launches));
  }

  #record(launches: readonly Launch[]): Recording {
    const {device} = this.#gpu;
    const live = launches.filter((launch) => launch.range > 0);
    // All launches' scalars lie in one uniform buffer, each at an offset that a binding may have.
    const align = device.limits.minUniformBufferOffsetAlignment;
    const room = (count: number): number => Math.ceil((count * 4) / align) * align;
    const total = live.reduce((sum, launch) => sum + room(launch.scalars.length), 0);
    const scalars =
      total > 0
        ? device.createBuffer({size: total, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST})
        : undefined;
    const words = new Int32Array(total / 4);
    let offset = 0;
    const steps = live.map((launch): Step => {
      const pipeline = this.#pipelines[launch.kernel];
      if (!pipeline) throw new GossamerError('damaged', `no kernel ${launch.kernel}`);
      const entries: GPUBindGroupEntry[] = launch.buffers.map((buffer, binding) => ({
        binding,
        resource: {buffer: (buffer as GpuBufferHolder).gpu},
      }));
      if (scalars && launch.scalars.length > 0) {
        words.set(launch.scalars, offset / 4);
        const size = Math.ceil(launch.scalars.length / 4) * 16;
        entries.push({binding: entries.length, resource: {buffer: scalars, offset, size}});
        offset += room(launch.scalars.length);
      }
      const x = Math.min(launch.range, 65535);
      const y = Math.ceil(launch.range / x);
      const group = device.createBindGroup({layout: pipeline.layout, entries});
      return {pipeline: pipeline.pipeline, group, x, y};
    });
    if (scalars) device.queue.writeBuffer(scalars, 0, words);
    return new GpuRecording(steps, scalars);
  }

  dispose(): void {
    // Pipelines and bind groups are collected with the objects that hold them.
  }
}

class WebGpuDevice implements Device {
  readonly kind = 'webgpu';
  readonly adapter: string;
  readonly threads = 1;
  readonly fallbacks = [];
  readonly queue: GpuQueue;
  readonly #gpu: Gpu;
  constructor(gpu: Gpu) {
    this.#gpu = gpu;
    this.adapter = gpu.name;
    this.queue = new GpuQueue(gpu);
  }

  async createBuffers(extents: readonly Extent[]): Promise<Buffer[]> {
    const device = alive(this.#gpu);
    const {maxStorageBufferBindingSize, maxBufferSize} = device.limits;
    const limit = Math.min(maxStorageBufferBindingSize, maxBufferSize);
    const sizes = extents.map((extent) => {
      const bytes = 'bytes' in extent ? extent.bytes : 0;
      if (bytes <= limit) return Math.max(16, Math.ceil(bytes / 16) * 16);
      throw new GossamerError(
        'unsupported',
        `a tensor takes ${bytes} bytes, a WebGPU buffer here holds ${limit} at most`,
      );
    });
    const made: Buffer[] = [];
    try {
      await checked(this.#gpu, 'memory', () => {
        const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
        sizes.forEach((size, at) => {
          const extent = extents[at] ?? {bytes: size};
          made.push(new GpuBufferHolder(extent, device.createBuffer({size, usage})));
        });
      });
    } catch (problem) {
      made.forEach((buffer) => buffer.dispose());
      throw problem;
    }
    return made;
  }

  async createExecutable(program: Program, progress: (done: number) => void): Promise<Executable> {
    const plan =
      program.module && program.plan && (await createPlan(program.module, program.plan));
    const pipelines = await buildPipelines(alive(this.#gpu), program.kernels, progress);
    return new GpuExecutable(this.#gpu, pipelines, plan);
  }

  dispose(): void {
    this.queue.dispose();
  }
}

/** Throws 'unsupported' when there is no WebGPU or it lacks something that the package needs. */
export async function open(needs: readonly string[]): Promise<Device> {
  const gpu = await getGpu();
  const lacking = missingFeature(gpu, needs);
  if (lacking !== undefined) {
    throw new GossamerError('unsupported', `the package needs ${lacking}; ${gpu.name} lacks it`);
  }
  return new WebGpuDevice(gpu);
}
