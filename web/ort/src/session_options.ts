/** Options and metadata of sessions, by onnxruntime-common's names. */
import type {ElementType} from './element_types.ts';
import type {DataLocation, Global} from './tensor_options.ts';

export type FileUrlOrPath = string;
export type FileBlob = Blob;
export type FileData = Uint8Array | ArrayBufferLike;
export type FileType = FileUrlOrPath | FileBlob | FileData;
/** A file of weights: the path by which the model refers to it, and its content or address. */
export interface ExternalDataFileDescription {
  data: FileType | URL;
  path: string;
}
/** A text alone is both the path and the address. */
export type ExternalDataFileType = ExternalDataFileDescription | FileUrlOrPath;
export interface OnnxModelOptions {
  /** In Node.js, files next to a model that is given by its path need not be listed. */
  externalData?: readonly ExternalDataFileType[];
}

export interface SessionOptions extends OnnxModelOptions {
  /** In the order of preference: 'webgpu', 'webgl', 'wasm' and 'cpu' (the same as 'wasm'), or objects with such a name; others are skipped. */
  executionProviders?: readonly ExecutionProviderConfig[];
  /** Threads on wasm, of the first session there. */
  intraOpNumThreads?: number;
  /** Fixes dimensions of inputs by their names. */
  freeDimensionOverrides?: {readonly [dimensionName: string]: number};
  freeDimensionOverridesByName?: {readonly [dimensionName: string]: number};
  /** 'gpu-buffer': outputs stay on webgpu; for all, or by the outputs' names. */
  preferredOutputLocation?: DataLocation | {readonly [outputName: string]: DataLocation};
  /** Ignored, as are all options below: every model is compiled as a whole. */
  graphOptimizationLevel?: 'disabled' | 'basic' | 'extended' | 'layout' | 'all';
  executionMode?: 'sequential' | 'parallel';
  interOpNumThreads?: number;
  enableCpuMemArena?: boolean;
  enableMemPattern?: boolean;
  enableGraphCapture?: boolean;
  enableProfiling?: boolean;
  profileFilePrefix?: string;
  optimizedModelFilePath?: string;
  logId?: string;
  logSeverityLevel?: 0 | 1 | 2 | 3 | 4;
  logVerbosityLevel?: number;
  extra?: Record<string, unknown>;
}

/** Ignored. */
export interface RunOptions {
  logSeverityLevel?: 0 | 1 | 2 | 3 | 4;
  logVerbosityLevel?: number;
  terminate?: boolean;
  tag?: string;
  extra?: Record<string, unknown>;
}

export interface ExecutionProviderOption {
  readonly name: string;
}
export interface CpuExecutionProviderOption extends ExecutionProviderOption {
  readonly name: 'cpu';
  useArena?: boolean;
}
export interface WebAssemblyExecutionProviderOption extends ExecutionProviderOption {
  readonly name: 'wasm';
}
export interface WebGLExecutionProviderOption extends ExecutionProviderOption {
  readonly name: 'webgl';
}
export interface WebGpuExecutionProviderOption extends ExecutionProviderOption {
  readonly name: 'webgpu';
  /** The page's own. The other options are ignored. */
  device?: Global<'GPUDevice'>;
  preferredLayout?: 'NCHW' | 'NHWC';
  forceCpuNodeNames?: readonly string[];
  validationMode?: 'disabled' | 'wgpuOnly' | 'basic' | 'full';
  enableRobustness?: boolean;
  storageBufferCacheMode?: BufferCacheMode;
  uniformBufferCacheMode?: BufferCacheMode;
  queryResolveBufferCacheMode?: BufferCacheMode;
  defaultBufferCacheMode?: BufferCacheMode;
}
// Sessions skip the providers from here on.
export interface CoreMLExecutionProviderOption extends ExecutionProviderOption {
  readonly name: 'coreml';
  coreMlFlags?: number;
  useCPUOnly?: boolean;
  useCPUAndGPU?: boolean;
  enableOnSubgraph?: boolean;
  onlyEnableDeviceWithANE?: boolean;
}
export interface CudaExecutionProviderOption extends ExecutionProviderOption {
  readonly name: 'cuda';
  deviceId?: number;
}
export interface DmlExecutionProviderOption extends ExecutionProviderOption {
  readonly name: 'dml';
  deviceId?: number;
}
export interface NnapiExecutionProviderOption extends ExecutionProviderOption {
  readonly name: 'nnapi';
  useFP16?: boolean;
  useNCHW?: boolean;
  cpuDisabled?: boolean;
  cpuOnly?: boolean;
}
export interface QnnExecutionProviderOption extends ExecutionProviderOption {
  readonly name: 'qnn';
  backendType?: string;
  backendPath?: string;
  enableFp16Precision?: boolean;
}
export interface TensorRtExecutionProviderOption extends ExecutionProviderOption {
  readonly name: 'tensorrt';
  deviceId?: number;
}
export interface XnnpackExecutionProviderOption extends ExecutionProviderOption {
  readonly name: 'xnnpack';
}
export interface WebNNExecutionProviderName extends ExecutionProviderOption {
  readonly name: 'webnn';
}
export interface WebNNContextOptions {
  deviceType?: 'cpu' | 'gpu' | 'npu';
  numThreads?: number;
  powerPreference?: 'default' | 'low-power' | 'high-performance';
}
export interface WebNNOptionsWithoutMLContext extends WebNNExecutionProviderName, WebNNContextOptions {
  context?: never;
}
export interface WebNNOptionsWithMLContext extends WebNNExecutionProviderName, Omit<WebNNContextOptions, 'deviceType'>, Required<Pick<WebNNContextOptions, 'deviceType'>> {
  context: Global<'MLContext'>;
}
export interface WebNNOptionsWebGpu extends WebNNExecutionProviderName {
  context: Global<'MLContext'>;
  gpuDevice: Global<'GPUDevice'>;
}
export type WebNNExecutionProviderOption = WebNNOptionsWithoutMLContext | WebNNOptionsWithMLContext | WebNNOptionsWebGpu;

export interface ExecutionProviderOptionMap {
  coreml: CoreMLExecutionProviderOption;
  cpu: CpuExecutionProviderOption;
  cuda: CudaExecutionProviderOption;
  dml: DmlExecutionProviderOption;
  nnapi: NnapiExecutionProviderOption;
  qnn: QnnExecutionProviderOption;
  tensorrt: TensorRtExecutionProviderOption;
  wasm: WebAssemblyExecutionProviderOption;
  webgl: WebGLExecutionProviderOption;
  webgpu: WebGpuExecutionProviderOption;
  webnn: WebNNExecutionProviderOption;
  xnnpack: XnnpackExecutionProviderOption;
}
export type ExecutionProviderName = keyof ExecutionProviderOptionMap;
// eslint-disable-next-line @typescript-eslint/no-redundant-type-constituents -- the names are for editors
export type ExecutionProviderConfig = ExecutionProviderOptionMap[ExecutionProviderName] | ExecutionProviderOption | ExecutionProviderName | string;

export interface ValueMetadataBase {
  readonly name: string;
}
/** No session has these. */
export interface NonTensorValueMetadata extends ValueMetadataBase {
  readonly isTensor: false;
}
export interface TensorValueMetadata extends ValueMetadataBase {
  readonly isTensor: true;
  readonly type: ElementType;
  /** Extents; names of dimensions, '' for those without a name. */
  readonly shape: readonly (number | string)[];
}
export type ValueMetadata = NonTensorValueMetadata | TensorValueMetadata;
type BufferCacheMode = 'disabled' | 'lazyRelease' | 'simple' | 'bucket';
