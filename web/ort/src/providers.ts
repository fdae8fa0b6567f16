/** Execution providers by onnxruntime-web's names, and the devices that all sessions share. */
import type {ComputeDevice, DeviceKind} from '../../runtime/src/index.ts';
import {messageOf} from '../../runtime/src/values/types.ts';
import {env, gpu} from './env.ts';
import type {ExecutionProviderConfig} from './session_options.ts';

const KINDS: Readonly<Record<string, DeviceKind>> = {webgpu: 'webgpu', webgl: 'webgl', wasm: 'wasm', cpu: 'wasm'};

interface Opened {
  readonly device: Promise<ComputeDevice>;
}

/** By their kind, or the GPUDevice that was given. */
const devices = new Map<DeviceKind | GPUDevice, Opened>();

async function open(key: DeviceKind | GPUDevice, threads: number | undefined): Promise<ComputeDevice> {
  const known = devices.get(key);
  if (known) {
    const device = await known.device;
    try {
      device.home.check();
      return device;
    } catch {
      // A GPU that went away may be back.
      if (devices.get(key) === known) devices.delete(key);
    }
  }
  const {openDevice} = await import('../../runtime/src/index.ts');
  const meanwhile = devices.get(key);
  if (meanwhile) return meanwhile.device;
  const opened = {device: openDevice(key, {threads})};
  devices.set(key, opened);
  opened.device.catch(() => devices.get(key) === opened && devices.delete(key));
  return opened.device;
}

/** The device of sessions on WebGPU. */
export async function openGpu(): Promise<GPUDevice> {
  const {gpuDevice} = await open('webgpu', undefined);
  if (!gpuDevice) throw new Error('this device has no GPUDevice');
  return gpuDevice;
}

/** What was tried before, and why it was none. */
export class Refusals {
  readonly #reasons: string[] = [];

  add(name: string, problem: unknown): void {
    this.#reasons.push(`${name}: ${messageOf(problem)}`);
  }

  toString(): string {
    return this.#reasons.join('; ');
  }
}

/** The name of each provider, and how its device is had. Throws for what is no list of them. */
export function providersOf(given: unknown, intraOpNumThreads: number | undefined): {name: string; open: () => Promise<ComputeDevice>}[] {
  const list = given ?? ['wasm'];
  if (!Array.isArray(list)) throw new TypeError(`executionProviders is a list of names, such as ['webgpu', 'wasm'], not ${typeof list}`);
  const all = (list as ExecutionProviderConfig[]).length > 0 ? (list as ExecutionProviderConfig[]) : ['wasm'];
  return all.map((entry) => {
    const {name, device = undefined} = (typeof entry === 'string' ? {name: entry} : entry) as {readonly name: string; readonly device?: GPUDevice | undefined};
    if (typeof name !== 'string') throw new TypeError('an entry of executionProviders is a name, or an object with one');
    return {
      name,
      async open() {
        const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
        if (!kind) throw new Error(`it is no execution provider here: ${Object.keys(KINDS).join(', ')} are`);
        const threads = intraOpNumThreads ?? env.wasm.numThreads;
        return open(kind === 'webgpu' ? (device ?? gpu.given ?? kind) : kind, kind === 'wasm' && threads ? threads : undefined);
      },
    };
  });
}
