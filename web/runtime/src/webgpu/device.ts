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
  Room,
} from '../device.ts';
import type {Lifetime} from '../lifetime.ts';
import {createPlan, type PlanMemory} from '../plan_module.ts';
import {type DType, GossamerError} from '../types.ts';
import {getGpu, type Gpu, missingFeature} from './adapter.ts';
import {alive, checked, checkedParts} from './checked.ts';
import {buildPipelines, type Pipeline} from './pipelines.ts';
import {Staging} from './staging.ts';

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
  readonly name: string;
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
  readonly #staging: Staging;
  constructor(gpu: Gpu) {
    this.#gpu = gpu;
    this.#staging = new Staging(gpu);
  }

  write(buffer: Buffer, data: Uint8Array, _storage: DType): void {
    if (data.byteLength === 0) return;
    const {queue} = alive(this.#gpu);
    const whole = data.byteLength - (data.byteLength % 4);
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
    const work = (some: readonly Step[]): void => {
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      let pipeline: GPUComputePipeline | undefined;
      for (const step of some) {
        if (step.pipeline !== pipeline) pass.setPipeline((pipeline = step.pipeline));
        pass.setBindGroup(0, step.group);
        pass.dispatchWorkgroups(step.x, step.y);
      }
      pass.end();
      device.queue.submit([encoder.finish()]);
    };
    let errors: Promise<void> = Promise.resolve();
    if ((recording as GpuRecording).watched) {
      work(steps);
    } else {
      (recording as GpuRecording).watched = true;
      errors = checkedParts(this.#gpu, 'run', steps, work);
      errors.catch(() => undefined);
    }
    const {life} = this.#gpu;
    return {
      accepted: errors,
      get done() {
        return errors.then(() => life.guard(device.queue.onSubmittedWorkDone().then(() => undefined)));
      },
    };
  }

  read(buffer: Buffer, bytes: number, _storage: DType): Promise<Uint8Array> {
    return bytes === 0
      ? Promise.resolve(new Uint8Array())
      : this.#staging.read((buffer as GpuBufferHolder).gpu, bytes);
  }

  dispose(): void {
    this.#staging.dispose();
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

  plan(segment: number, dims: readonly number[]): Promise<Float64Array> {
    return Promise.resolve(this.#plan?.evaluate(segment, dims) ?? new Float64Array());
  }

  record(launches: readonly Launch[]): Promise<Recording> {
    return checkedParts(this.#gpu, 'bindings', launches, (some) => this.#record(some));
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
      const {name} = launch;
      const group = device.createBindGroup({layout: pipeline.layout, entries, label: name});
      return {name, pipeline: pipeline.pipeline, group, x, y};
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
  readonly software: boolean;
  readonly threads = 1;
  readonly fallbacks = [];
  readonly queue: GpuQueue;
  readonly life: Lifetime;
  readonly #gpu: Gpu;
  constructor(gpu: Gpu) {
    this.#gpu = gpu;
    this.life = gpu.life;
    this.adapter = gpu.name;
    this.software = gpu.software;
    this.queue = new GpuQueue(gpu);
  }

  async createBuffers(rooms: readonly Room[]): Promise<Buffer[]> {
    const device = alive(this.#gpu);
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
        checked(this.#gpu, `${name}, ${size} bytes`, () => {
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

  async createExecutable(program: Program, progress: (done: number) => void): Promise<Executable> {
    const plan =
      program.module && program.plan && (await createPlan(program.module, program.plan));
    const pipelines = await buildPipelines(this.#gpu, program.kernels, progress);
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
