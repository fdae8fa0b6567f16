/** Options of sessions and runs, by onnxruntime-web's names. */
import type {ElementType} from './element_types.ts';
import type {ExternalDataFile} from './model_bytes.ts';
import type {ExecutionProviderConfig} from './providers.ts';
import type {DataLocation} from './tensor.ts';

export interface SessionOptions {
  /** In the order of preference: 'webgpu', 'webgl', 'wasm' and 'cpu' (the same), or objects with such a name; others are passed over. */
  readonly executionProviders?: readonly ExecutionProviderConfig[] | undefined;
  /** Threads of wasm, of the first session there. */
  readonly intraOpNumThreads?: number | undefined;
  /** Fixes dimensions of inputs by their names. */
  readonly freeDimensionOverrides?: Readonly<Record<string, number>> | undefined;
  readonly freeDimensionOverridesByName?: Readonly<Record<string, number>> | undefined;
  /** Files of weights; a text is both the name and an address. */
  readonly externalData?: readonly ExternalDataFile[] | undefined;
  /** 'gpu-buffer': outputs stay on webgpu. Of all, or by the outputs' names. */
  readonly preferredOutputLocation?: DataLocation | Readonly<Record<string, DataLocation>> | undefined;
  /** Read by nothing: every model is compiled whole. */
  readonly graphOptimizationLevel?: 'disabled' | 'basic' | 'extended' | 'layout' | 'all' | undefined;
  /** Others of onnxruntime's are accepted and read by nothing (README.md lists them). */
  readonly [option: string]: unknown;
}

/** Read by nothing. */
export interface RunOptions {
  readonly logSeverityLevel?: 0 | 1 | 2 | 3 | 4;
  readonly logVerbosityLevel?: number;
  readonly terminate?: boolean;
  readonly tag?: string;
  readonly extra?: Readonly<Record<string, unknown>>;
}

export interface ValueMetadata {
  readonly name: string;
  readonly isTensor: true;
  readonly type: ElementType;
  /** Numbers; names of dimensions, '' for those without. */
  readonly shape: readonly (number | string)[];
}

/** Throws a TypeError for what are no options. */
export function defaultsOf(given: unknown): SessionOptions {
  if (given === undefined) return {};
  if (typeof given !== 'object' || given === null) throw new TypeError(`InferenceSession.create: options are an object, not ${given === null ? 'null' : typeof given}`);
  const options = given as SessionOptions;
  for (const key of ['freeDimensionOverrides', 'freeDimensionOverridesByName'] as const) {
    for (const [name, extent] of Object.entries(options[key] ?? {})) {
      if (!Number.isSafeInteger(extent) || extent < 0) throw new RangeError(`${key}: ${String(extent)} is no extent for "${name}"`);
    }
  }
  return options;
}
