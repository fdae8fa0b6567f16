/** onnxruntime-web's env. */
import type {Global} from './tensor_options.ts';

/** Of this package, by the build. */
declare const VERSION: string | undefined;

const version = typeof VERSION === 'undefined' ? '' : VERSION;

/* eslint-disable @typescript-eslint/no-namespace -- code for onnxruntime-web says Env.WebAssemblyFlags */
export declare namespace Env {
  type WasmPathPrefix = string;
  interface WasmFilePaths {
    /** The address of compiler.wasm, by default next to this package's script. Those of onnxruntime's own files are skipped. */
    wasm?: URL | string;
    mjs?: URL | string;
  }
  type WasmPrefixOrFilePaths = WasmPathPrefix | WasmFilePaths;
  interface WebAssemblyFlags {
    /** Threads of sessions on wasm; default: up to 4 in cross-origin isolated pages, else 1. Set it before the first of them. */
    numThreads?: number;
    wasmPaths?: WasmPrefixOrFilePaths;
    /** Ignored, as are all flags below: wasm computes in a worker by itself. */
    proxy?: boolean;
    simd?: boolean | 'fixed' | 'relaxed';
    trace?: boolean;
    initTimeout?: number;
    wasmBinary?: ArrayBufferLike | Uint8Array;
  }
  /** Ignored. */
  interface WebGLFlags {
    contextId?: 'webgl' | 'webgl2';
    readonly context: WebGLRenderingContext;
    matmulMaxBatchSize?: number;
    textureCacheMode?: 'initializerOnly' | 'full';
    pack?: boolean;
    async?: boolean;
  }
  interface WebGpuProfilingDataV1TensorMetadata {
    dims: readonly number[];
    dataType: string;
  }
  interface WebGpuProfilingDataV1 {
    version: 1;
    inputsMetadata: readonly WebGpuProfilingDataV1TensorMetadata[];
    outputsMetadata: readonly WebGpuProfilingDataV1TensorMetadata[];
    kernelId: number;
    kernelType: string;
    kernelName: string;
    programName: string;
    startTime: number;
    endTime: number;
  }
  type WebGpuProfilingData = WebGpuProfilingDataV1;
  interface WebGpuFlags {
    /** The device of the sessions. Reading it opens it; to use your own, set it before the first session on WebGPU. */
    get device(): Promise<Global<'GPUDevice'>>;
    set device(value: Global<'GPUDevice'>);
    /** Ignored, as are all flags below. */
    adapter: Global<'GPUAdapter'>;
    profilingMode?: 'off' | 'default';
    profiling: {mode?: 'off' | 'default'; ondata?: (data: WebGpuProfilingData) => void};
    powerPreference?: 'low-power' | 'high-performance';
    forceFallbackAdapter?: boolean;
    validateInputContent?: boolean;
  }
  /** Not in onnxruntime-common. */
  interface GossamerFlags {
    /**
     * Whether compiled models are kept by the hash of their content; default true. In Cache Storage ("gossamer-compiled") in pages. In
     * Node.js in a folder of the user's own, or in the folder that a text names.
     */
    cache: boolean | string;
    /**
     * After so many runs with the same shapes a session of open dimensions compiles the model for them, in the background, and uses it as
     * soon as it is there (results may round differently). 0: never. Default 8. The lengths of a generation are not counted. Models of
     * more than 256 MB on the device stay as they are.
     */
    specializeAfter: number;
  }
}
/* eslint-enable @typescript-eslint/no-namespace */

export interface Env {
  /** Ignored: what is wrong is an error, and nothing is logged. */
  logLevel?: 'verbose' | 'info' | 'warning' | 'error' | 'fatal';
  debug?: boolean;
  trace?: boolean;
  /** Without `web`: libraries fetch onnxruntime-web's files of that version from another server. */
  readonly versions: {readonly common: string; readonly web?: string; readonly node?: string; readonly 'react-native'?: string};
  readonly wasm: Env.WebAssemblyFlags;
  readonly webgl: Env.WebGLFlags;
  readonly webgpu: Env.WebGpuFlags;
  readonly gossamer: Env.GossamerFlags;
  [name: string]: unknown;
}

/** What env.webgpu.device takes and gives; index.ts says how it is opened. */
export const gpu: {given: GPUDevice | undefined; open: () => Promise<GPUDevice>} = {
  given: undefined,
  open: () => Promise.reject(new Error('the device is opened by the package as a whole')),
};

export const env: Env = {
  versions: {common: version},
  wasm: {},
  webgl: {} as Env.WebGLFlags,
  webgpu: {
    get device(): Promise<GPUDevice> {
      return gpu.given ? Promise.resolve(gpu.given) : gpu.open();
    },
    set device(value: GPUDevice) {
      gpu.given = value;
    },
  } as Env.WebGpuFlags,
  gossamer: {cache: true, specializeAfter: 8},
};
