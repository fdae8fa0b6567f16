/** Compute pipelines of a package: equal kernels once, all built at the same time. */
import type {Kernel} from '../device.ts';
import {GossamerError, kernelName, messageOf} from '../types.ts';
import type {Gpu} from './adapter.ts';
import {alive} from './checked.ts';

export interface Pipeline {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

function refuseTooLarge(device: GPUDevice, kernel: Kernel, name: string): void {
  const {maxStorageBuffersPerShaderStage, maxComputeInvocationsPerWorkgroup} = device.limits;
  if (kernel.buffers > maxStorageBuffersPerShaderStage) {
    throw new GossamerError(
      'unsupported',
      `${name} binds ${kernel.buffers} buffers, ` +
        `this adapter allows ${maxStorageBuffersPerShaderStage}`,
    );
  }
  if (kernel.group > maxComputeInvocationsPerWorkgroup) {
    throw new GossamerError(
      'unsupported',
      `${name} has workgroups of ${kernel.group}, ` +
        `this adapter allows ${maxComputeInvocationsPerWorkgroup}`,
    );
  }
}

/** Layouts by number of buffers, how many of them are written, and whether scalars follow. */
class Layouts {
  readonly #device: GPUDevice;
  readonly #made = new Map<string, [GPUBindGroupLayout, GPUPipelineLayout]>();
  constructor(device: GPUDevice) {
    this.#device = device;
  }
  get({buffers, writes, scalars}: Kernel): [GPUBindGroupLayout, GPUPipelineLayout] {
    const key = `${buffers} ${writes} ${scalars > 0}`;
    let pair = this.#made.get(key);
    if (!pair) {
      const entries = Array.from({length: buffers}, (_, binding): GPUBindGroupLayoutEntry => ({
        binding,
        visibility: GPUShaderStage.COMPUTE,
        buffer: {type: binding >= buffers - writes ? 'storage' : 'read-only-storage'},
      }));
      if (scalars > 0) {
        const buffer = {type: 'uniform'} as const;
        entries.push({binding: buffers, visibility: GPUShaderStage.COMPUTE, buffer});
      }
      const group = this.#device.createBindGroupLayout({entries});
      pair = [group, this.#device.createPipelineLayout({bindGroupLayouts: [group]})];
      this.#made.set(key, pair);
    }
    return pair;
  }
}

async function explain(module: GPUShaderModule, problem: unknown): Promise<string> {
  const {messages} = await module.getCompilationInfo();
  const first = messages.find((message) => message.type === 'error');
  if (!first) return messageOf(problem);
  return `line ${first.lineNum}:${first.linePos}: ${first.message}`;
}

/** One pipeline a kernel. Throws 'unsupported' or 'kernel' with the driver's first complaint. */
export async function buildPipelines(
  gpu: Gpu,
  kernels: readonly Kernel[],
  progress: (done: number) => void,
): Promise<Pipeline[]> {
  const device = alive(gpu);
  const layouts = new Layouts(device);
  const made = new Map<string, Promise<Pipeline>>();
  let done = 0;
  const build = async (kernel: Kernel): Promise<Pipeline> => {
    const name = kernelName(kernel.name, kernel.origin);
    refuseTooLarge(device, kernel, name);
    const [group, layout] = layouts.get(kernel);
    // A module's errors are reported by the pipeline; without a scope they would also reach the page.
    device.pushErrorScope('validation');
    const module = device.createShaderModule({code: kernel.code ?? '', label: kernel.name});
    device.popErrorScope().catch(() => undefined);
    try {
      const compute = {module, entryPoint: kernel.entry};
      const label = kernel.name;
      const pipeline = await gpu.life.guard(
        device.createComputePipelineAsync({layout, compute, label}),
      );
      return {pipeline, layout: group};
    } catch (problem) {
      gpu.life.check();
      const why = await gpu.life.guard(explain(module, problem));
      throw new GossamerError('kernel', `WebGPU refuses ${name}: ${why}`, {cause: problem});
    }
  };
  return Promise.all(
    kernels.map(async (kernel) => {
      const key = `${kernel.entry} ${kernel.buffers} ${kernel.writes} ${kernel.scalars > 0}\n${kernel.code}`;
      let pipeline = made.get(key);
      if (!pipeline) {
        pipeline = build(kernel);
        made.set(key, pipeline);
      }
      const result = await pipeline;
      progress(++done);
      return result;
    }),
  );
}
