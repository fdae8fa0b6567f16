/** onnxruntime-web's env, as far as something here follows it. */

/** Of this package, by the build. */
declare const VERSION: string | undefined;

const version = typeof VERSION === 'undefined' ? '' : VERSION;

export interface Env {
  /** Read by nothing: what is wrong is an error, and nothing else is said. */
  logLevel?: 'verbose' | 'info' | 'warning' | 'error' | 'fatal';
  debug?: boolean;
  trace?: boolean;
  /** Without `web`: libraries fetch onnxruntime-web's files of that version from a server of others. */
  readonly versions: {readonly common: string; readonly web?: string; readonly node?: string};
  readonly wasm: {
    /** Of sessions on wasm; default: up to 4 in cross-origin isolated pages, else 1. Before the first of them. */
    numThreads?: number;
    /** {wasm}: the address of compiler.wasm, by default beside this package's script. Those of onnxruntime's own files are passed over. */
    wasmPaths?: string | {readonly wasm?: URL | string; readonly mjs?: URL | string};
    /** Read by nothing: wasm computes in a worker by itself. */
    proxy?: boolean;
    simd?: boolean | 'fixed' | 'relaxed';
    trace?: boolean;
    initTimeout?: number;
    wasmBinary?: ArrayBufferLike | Uint8Array;
    [name: string]: unknown;
  };
  /** Read by nothing. */
  readonly webgl: Record<string, unknown>;
  readonly webgpu: {
    /** That of the sessions, or to be that of sessions to come. Asking for it opens it. */
    get device(): Promise<GPUDevice>;
    set device(value: GPUDevice);
    [name: string]: unknown;
  };
  readonly gossamer: {
    /** Whether compiled models are kept in Cache Storage ("gossamer-compiled") by the hash of their content; default true. */
    cache: boolean;
    /**
     * After so many runs with the same shapes a session of open dimensions compiles the model for them, in the background, and uses it as
     * soon as it is there (results may round differently). 0: never. Default 8. Models of more than 256 MB on the device stay as they are.
     */
    specializeAfter: number;
  };
  [name: string]: unknown;
}

/** What env.webgpu.device gives and takes (providers.ts). */
export const gpu: {given: GPUDevice | undefined; open: () => Promise<GPUDevice>} = {
  given: undefined,
  open: () => Promise.reject(new Error('no session was made yet')),
};

export const env: Env = {
  versions: {common: version},
  wasm: {},
  webgl: {},
  webgpu: {
    get device(): Promise<GPUDevice> {
      return gpu.given ? Promise.resolve(gpu.given) : gpu.open();
    },
    set device(value: GPUDevice) {
      gpu.given = value;
    },
  },
  gossamer: {cache: true, specializeAfter: 8},
};
