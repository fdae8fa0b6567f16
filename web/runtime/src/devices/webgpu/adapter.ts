/** One GPUDevice for the whole page: adapters hand out few, and buffers cannot cross between them. */
import {Lifetime} from '../lifetime.ts';
import {Shared} from '../shared.ts';
import {GossamerError, messageOf} from '../../values/types.ts';

export interface Pipeline {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

export interface Gpu {
  readonly device: GPUDevice;
  readonly name: string;
  /** A CPU acts as the GPU. */
  readonly software: boolean;
  readonly life: Lifetime;
  readonly pipelines: Shared<Pipeline>;
}

const FEATURES: Readonly<Record<string, GPUFeatureName>> = {
  'webgpu-f16': 'shader-f16',
  'webgpu-subgroups': 'subgroups',
};

/** Limits that models reach; the whole of what the adapter has is asked for. */
const LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
] as const;

interface Platform {
  /** Only in Node.js and what is like it. */
  readonly process?: {
    readonly argv: readonly string[];
    cwd(): string;
    getBuiltinModule?(this: void, name: 'node:module'): {createRequire(from: string): (name: string) => unknown};
  };
  readonly isSecureContext?: boolean;
}

let installed: GPU | undefined;

/** Dawn, where its npm package is installed: for the program or in the working folder. Required by a call, so that bundlers see no import. */
function dawn({process}: Platform): GPU | undefined {
  if (installed) return installed;
  for (const from of [process?.argv[1], `${process?.cwd()}/x.js`]) {
    try {
      const {create, globals} = process?.getBuiltinModule?.('node:module').createRequire(from ?? '')('webgpu') as {create: (flags: readonly string[]) => GPU; globals: object};
      Object.assign(globalThis, globals);
      return (installed = create([]));
    } catch {
      // It is not installed there.
    }
  }
  return undefined;
}

/** Why there is no WebGPU, or what gives adapters. */
function findGpu(): GPU | string {
  const platform = globalThis as Platform;
  if (typeof navigator !== 'undefined' && 'gpu' in navigator) return navigator.gpu;
  if (platform.process?.getBuiltinModule) return dawn(platform) ?? 'this program has no WebGPU: install the npm package "webgpu"';
  return platform.isSecureContext === false ? 'WebGPU needs a secure context (https or localhost)' : 'this browser has no WebGPU (navigator.gpu is missing)';
}

export async function findAdapter(): Promise<GPUAdapter | string> {
  try {
    const gpu = findGpu();
    if (typeof gpu === 'string') return gpu;
    const adapter = await gpu.requestAdapter({powerPreference: 'high-performance'});
    return adapter ?? 'WebGPU found no adapter (no suitable GPU, or it is blocked)';
  } catch (problem) {
    return `WebGPU: ${messageOf(problem)}`;
  }
}

export function nameOf({vendor, architecture, device, description}: GPUAdapterInfo): string {
  const name = description || [vendor, device || architecture].filter(Boolean).join(' ');
  return name || 'WebGPU adapter';
}

const isSoftware = ({isFallbackAdapter, architecture, description}: GPUAdapterInfo): boolean =>
  isFallbackAdapter || /swiftshader|llvmpipe|lavapipe|basic render/i.test(architecture + description);

function make(device: GPUDevice, info: GPUAdapterInfo, gone: () => void): Gpu {
  const life = new Lifetime();
  void device.lost.then(({reason, message}) => {
    gone();
    life.end(new GossamerError('lost', `the WebGPU device was lost (${reason}): ${message}`));
  });
  const pipelines = new Shared<Pipeline>(() => undefined);
  return {device, name: nameOf(info), software: isSoftware(info), life, pipelines};
}

const given = new WeakMap<GPUDevice, Gpu>();

/** A device that is the page's own. */
export function gpuOf(device: GPUDevice): Gpu {
  let gpu = given.get(device);
  if (!gpu) given.set(device, (gpu = make(device, device.adapterInfo, () => undefined)));
  return gpu;
}

async function requestGpu(gone: () => void): Promise<Gpu> {
  const adapter = await findAdapter();
  if (typeof adapter === 'string') throw new GossamerError('unsupported', adapter);
  const requiredLimits: Record<string, number> = {};
  for (const limit of LIMITS) requiredLimits[limit] = adapter.limits[limit];
  const wanted: GPUFeatureName[] = [...Object.values(FEATURES), 'timestamp-query'];
  const requiredFeatures = wanted.filter((name) => adapter.features.has(name));
  try {
    return make(await adapter.requestDevice({requiredLimits, requiredFeatures}), adapter.info, gone);
  } catch (problem) {
    throw new GossamerError('unsupported', `WebGPU gave no device: ${messageOf(problem)}`);
  }
}

let current: Promise<Gpu> | undefined;

/** The page's device, made on first use and again after a loss. Throws 'unsupported'. */
export function getGpu(): Promise<Gpu> {
  if (current) return current;
  const forget = (): void => {
    if (current === mine) current = undefined;
  };
  const mine = requestGpu(forget);
  mine.catch(forget);
  current = mine;
  return mine;
}

export function missingFeature(gpu: Gpu, needs: readonly string[]): string | undefined {
  return needs.find((need) => {
    const feature = FEATURES[need];
    return need.startsWith('webgpu-') && (!feature || !gpu.device.features.has(feature));
  });
}
