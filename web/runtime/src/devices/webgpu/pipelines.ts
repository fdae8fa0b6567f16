/** Compute pipelines: equal kernels once, whatever models have them, all of a model built at the same time. */
import type {Kernel} from '../device.ts';
import {GossamerError, kernelName, messageOf} from '../../values/types.ts';
import type {Gpu, Pipeline} from './adapter.ts';
import {alive} from './checked.ts';

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

function layoutOf(device: GPUDevice, {buffers, writes, scalars}: Kernel): GPUBindGroupLayout {
  const visibility = GPUShaderStage.COMPUTE;
  const entries = Array.from({length: buffers}, (_, binding): GPUBindGroupLayoutEntry => ({
    binding,
    visibility,
    buffer: {type: binding >= buffers - writes ? 'storage' : 'read-only-storage'},
  }));
  if (scalars > 0) entries.push({binding: buffers, visibility, buffer: {type: 'uniform'}});
  return device.createBindGroupLayout({entries});
}

async function explain(module: GPUShaderModule, problem: unknown): Promise<string> {
  const {messages} = await module.getCompilationInfo();
  const first = messages.find((message) => message.type === 'error');
  if (!first) return messageOf(problem);
  return `line ${first.lineNum}:${first.linePos}: ${first.message}`;
}

/** By what pipelines are alike. */
const keyOf = ({entry, buffers, writes, scalars, code}: Kernel): string =>
  `${entry} ${buffers} ${writes} ${scalars > 0}\n${code}`;

/** Throws 'unsupported' or 'kernel' with the driver's first complaint. */
async function build(gpu: Gpu, kernel: Kernel): Promise<Pipeline> {
  let {code = ''} = kernel;
  if (code.includes('dot4I8')) code = (await import('../../dots/dots.ts')).withBuiltIns(code);
  const device = alive(gpu);
  const label = kernelName(kernel.name, kernel.origin);
  refuseTooLarge(device, kernel, label);
  const group = layoutOf(device, kernel);
  const layout = device.createPipelineLayout({bindGroupLayouts: [group]});
  // A module's errors are reported by the pipeline; without a scope they would also reach the page.
  device.pushErrorScope('validation');
  const module = device.createShaderModule({code, label});
  device.popErrorScope().catch(() => undefined);
  try {
    const compute = {module, entryPoint: kernel.entry};
    const pipeline = await gpu.life.guard(device.createComputePipelineAsync({layout, compute, label}));
    return {pipeline, layout: group};
  } catch (problem) {
    gpu.life.check();
    const why = await gpu.life.guard(explain(module, problem));
    throw new GossamerError('kernel', `WebGPU refuses ${label}: ${why}`, {cause: problem});
  }
}

/** One pipeline a kernel, and what lets go of them. Throws as build() does. */
export function buildPipelines(
  gpu: Gpu,
  kernels: readonly Kernel[],
  progress: (done: number) => void,
): Promise<readonly [Pipeline[], release: () => void]> {
  alive(gpu);
  return gpu.pipelines.use(kernels, keyOf, (kernel) => build(gpu, kernel), progress);
}
