/** What a device lacks for a model, said before anything large is downloaded. */
import type {ModelFiles, Weights} from './model_files.ts';
import {bytesText} from './units.ts';

export interface Gpu {
  readonly name: string;
  readonly hasF16: boolean;
  /** The most bytes of one tensor. */
  readonly largestBuffer: number;
}

export interface Device {
  /** A text says why there is none. */
  readonly gpu: Gpu | string;
  /** Bytes, as far as the browser tells. */
  readonly memory: number | undefined;
  /** Bytes that this page may still store. */
  readonly room: number | undefined;
  /** Whether wasm has threads. */
  readonly isIsolated: boolean;
}

export interface Choice {
  readonly weights: Weights | undefined;
  /** Empty: the best one here. */
  readonly target: string;
  /** The most tokens of a prompt and its answer; undefined: the model's. */
  readonly context: number | undefined;
}

/** `stop`: it cannot work. `warning`: it may fail or be slow. */
export interface Finding {
  readonly kind: 'stop' | 'warning' | 'note';
  readonly text: string;
}

export interface Needs {
  readonly target: string;
  /** Bytes to download or to read; undefined: not known before. */
  readonly download: number | undefined;
  /** Bytes of the conversation's keys and values; undefined: config.json does not say. */
  readonly cache: number | undefined;
  readonly findings: readonly Finding[];
}

/** Pages and wasm address no more than this. */
const WASM_MEMORY = 4e9;
const F32 = 4;

/** Bytes of one number of the weights, to judge the largest tensor. */
const BYTES: Readonly<Record<string, number>> = {q4f16: 2, fp16: 2, q8: 1, int8: 1, uint8: 1};

export async function deviceHere(): Promise<Device> {
  const {deviceMemory} = navigator as {deviceMemory?: number};
  const storage = await navigator.storage?.estimate?.().catch(() => undefined);
  return {
    gpu: await gpuHere(),
    memory: deviceMemory === undefined ? undefined : deviceMemory * 2 ** 30,
    room: storage?.quota === undefined ? undefined : storage.quota - (storage.usage ?? 0),
    isIsolated: crossOriginIsolated,
  };
}

async function gpuHere(): Promise<Gpu | string> {
  if (!('gpu' in navigator)) return isSecureContext ? 'this browser has no WebGPU' : 'WebGPU needs a page of https or localhost';
  const adapter = await navigator.gpu.requestAdapter().catch(() => null);
  if (!adapter) return 'WebGPU finds no GPU here (no adapter)';
  const {maxBufferSize, maxStorageBufferBindingSize} = adapter.limits;
  const {vendor, architecture, description} = adapter.info;
  return {
    name: description || [vendor, architecture].filter(Boolean).join(' ') || 'a GPU',
    hasF16: adapter.features.has('shader-f16'),
    largestBuffer: Math.min(maxBufferSize, maxStorageBufferBindingSize),
  };
}

function gpuFindings(files: ModelFiles, choice: Choice, gpu: Gpu): Finding[] {
  const found: Finding[] = [];
  const {sizes, compiled} = files;
  const usesHalves = choice.weights?.dtype === 'q4f16' || choice.weights?.dtype === 'fp16';
  if (!gpu.hasF16 && compiled?.needs.includes('webgpu-f16')) {
    found.push({kind: 'stop', text: 'The GPU has no shader-f16, which this compiled model needs. Compile it without --f16.'});
  } else if (!gpu.hasF16 && usesHalves) {
    found.push({kind: 'note', text: 'The GPU has no shader-f16. This model runs without it: weights stay 16-bit, sums are 32-bit.'});
  }
  if (!sizes) return found;
  const limit = bytesText(gpu.largestBuffer);
  const context = choice.context ?? files.context ?? 0;
  const layerCache = sizes.keys * context * F32;
  if (layerCache > gpu.largestBuffer) {
    const most = Math.floor(gpu.largestBuffer / (sizes.keys * F32));
    found.push({kind: 'stop', text: `Each layer keeps ${bytesText(layerCache)} for ${context} tokens, and the GPU allows ${limit} in one buffer. Set the context to ${most} tokens or less.`});
  }
  const table = sizes.words * sizes.hidden * (BYTES[choice.weights?.dtype ?? ''] ?? F32);
  if (table > gpu.largestBuffer) {
    found.push({kind: 'warning', text: `The table of tokens has about ${bytesText(table)}, and the GPU allows ${limit} in one buffer. Loading may fail; smaller weights help.`});
  }
  return found;
}

/** Where the model would run, what it takes, and what stands against it. */
export function needsOf(files: ModelFiles, choice: Choice, device: Device): Needs {
  const {gpu} = device;
  const wanted = files.compiled?.target || choice.target;
  const target = wanted || (typeof gpu === 'string' ? 'wasm' : 'webgpu');
  const download = files.compiled ? files.compiled.bytes : choice.weights?.bytes;
  const context = choice.context ?? files.context;
  const {sizes} = files;
  const cache = sizes && context ? 2 * sizes.layers * sizes.keys * context * F32 : undefined;
  const findings: Finding[] = [];
  const add = (kind: Finding['kind'], text: string): void => void findings.push({kind, text});

  if (!files.hasTokenizer) add('stop', 'There is no tokenizer.json. A folder of Hugging Face form is expected: tokenizer.json, config.json and ONNX files.');
  else if (!files.compiled && files.weights.length === 0) add('stop', 'There is no ONNX file, such as onnx/model_q4f16.onnx or model.onnx, and no model.safetensors.');
  else if (!files.hasTemplate) add('stop', 'There is no chat template. Only models that were trained for conversations have one.');
  if (choice.context !== undefined && files.context !== undefined && choice.context > files.context) {
    add('stop', `The context is set to ${choice.context} tokens, and this model reads ${files.context} at most.`);
  }

  if (target === 'webgpu' && typeof gpu === 'string') add('stop', `The target is webgpu, but ${gpu}. ${files.compiled ? 'Use a model that is compiled for wasm.' : 'Choose wasm in the settings.'}`);
  else if (target === 'webgpu' && typeof gpu !== 'string') findings.push(...gpuFindings(files, choice, gpu));
  else if (!wanted && typeof gpu === 'string') add('note', `On the CPU, because ${gpu}.`);
  if (target === 'wasm' && !device.isIsolated) add('note', 'One thread only: the server does not isolate this page (COOP and COEP headers).');

  const memory = (choice.weights?.memory ?? download ?? 0) + (cache ?? 0);
  if (target === 'wasm' && memory > WASM_MEMORY) add('stop', `About ${bytesText(memory)} of memory are needed, and wasm has 4 GB at most.`);
  else if (device.memory !== undefined && memory > 0.7 * device.memory) {
    add('warning', `About ${bytesText(memory)} of memory are needed. The browser reports ${bytesText(device.memory)} or more.`);
  }
  if (!files.compiled && device.room !== undefined && download !== undefined && download > device.room) {
    add('warning', `The compiled model will not be kept for the next visit: this page may store ${bytesText(Math.max(0, device.room))}.`);
  }
  return {target, download, cache, findings};
}
