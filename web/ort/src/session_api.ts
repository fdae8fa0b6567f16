/** What code for onnxruntime-common sees of sessions, by its names. */
import {InferenceSession as Session} from './inference_session.ts';
import type * as options from './session_options.ts';
import type {Shapes} from './specialized.ts';
import type {Tensor} from './tensor_api.ts';

export type {ExternalDataFileDescription, ExternalDataFileType, FileBlob, FileData, FileType, FileUrlOrPath, OnnxModelOptions} from './session_options.ts';

export type NonTensorType = never;
// eslint-disable-next-line @typescript-eslint/no-redundant-type-constituents -- sessions have tensors alone
export type OnnxValue = Tensor | NonTensorType;
export type OnnxValueDataLocation = Tensor.DataLocation;

/* eslint-disable @typescript-eslint/no-namespace -- code for onnxruntime-web says InferenceSession.SessionOptions */
export declare namespace InferenceSession {
  type OnnxValueMapType = {readonly [name: string]: OnnxValue};
  type NullableOnnxValueMapType = {readonly [name: string]: OnnxValue | null};
  type FeedsType = OnnxValueMapType;
  /** Names of outputs; or by name null, or a tensor on the host that receives the values. */
  type FetchesType = readonly string[] | NullableOnnxValueMapType;
  type ReturnType = OnnxValueMapType;

  type SessionOptions = options.SessionOptions;
  type RunOptions = options.RunOptions;
  type ExecutionProviderOption = options.ExecutionProviderOption;
  type CpuExecutionProviderOption = options.CpuExecutionProviderOption;
  type WebAssemblyExecutionProviderOption = options.WebAssemblyExecutionProviderOption;
  type WebGLExecutionProviderOption = options.WebGLExecutionProviderOption;
  type WebGpuExecutionProviderOption = options.WebGpuExecutionProviderOption;
  type CoreMLExecutionProviderOption = options.CoreMLExecutionProviderOption;
  type CudaExecutionProviderOption = options.CudaExecutionProviderOption;
  type DmlExecutionProviderOption = options.DmlExecutionProviderOption;
  type NnapiExecutionProviderOption = options.NnapiExecutionProviderOption;
  type QnnExecutionProviderOption = options.QnnExecutionProviderOption;
  type TensorRtExecutionProviderOption = options.TensorRtExecutionProviderOption;
  type XnnpackExecutionProviderOption = options.XnnpackExecutionProviderOption;
  type WebNNExecutionProviderName = options.WebNNExecutionProviderName;
  type WebNNContextOptions = options.WebNNContextOptions;
  type WebNNOptionsWithoutMLContext = options.WebNNOptionsWithoutMLContext;
  type WebNNOptionsWithMLContext = options.WebNNOptionsWithMLContext;
  type WebNNOptionsWebGpu = options.WebNNOptionsWebGpu;
  type WebNNExecutionProviderOption = options.WebNNExecutionProviderOption;
  type ExecutionProviderOptionMap = options.ExecutionProviderOptionMap;
  type ExecutionProviderName = options.ExecutionProviderName;
  type ExecutionProviderConfig = options.ExecutionProviderConfig;
  type ValueMetadataBase = options.ValueMetadataBase;
  type NonTensorValueMetadata = options.NonTensorValueMetadata;
  type TensorValueMetadata = options.TensorValueMetadata;
  type ValueMetadata = options.ValueMetadata;
}
/* eslint-enable @typescript-eslint/no-namespace */

/** A model, compiled for one device. */
export interface InferenceSession {
  /**
   * Several runs may be in progress together, of one session or of several. Feeds are taken at the call. Rejects with an Error for
   * a missing or unknown name, another type or other dims, and after release().
   */
  run(feeds: InferenceSession.FeedsType, options?: InferenceSession.RunOptions): Promise<InferenceSession.ReturnType>;
  run(feeds: InferenceSession.FeedsType, fetches: InferenceSession.FetchesType, options?: InferenceSession.RunOptions): Promise<InferenceSession.ReturnType>;
  /** Frees its memory; runs in progress reject. */
  release(): Promise<void>;
  /** Does nothing: model.profile() of @gossamer/runtime measures. */
  startProfiling(): void;
  endProfiling(): void;
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly inputMetadata: readonly InferenceSession.ValueMetadata[];
  readonly outputMetadata: readonly InferenceSession.ValueMetadata[];
  /** Not in onnxruntime-common: shapes of feeds for which the session has compiled the model again (env.gossamer.specializeAfter). */
  readonly specializedShapes?: readonly Shapes[];
}

export interface InferenceSessionFactory {
  /**
   * A session of a model's address or bytes, on the first of `executionProviders` that can run it ('wasm' if none are named). Sessions with
   * the same provider share its device. Rejects with an Error that says what is wrong with the model, or why no provider can run it.
   */
  create(uri: string | URL, options?: InferenceSession.SessionOptions): Promise<InferenceSession>;
  create(buffer: ArrayBufferLike | Uint8Array | Blob, options?: InferenceSession.SessionOptions): Promise<InferenceSession>;
  create(buffer: ArrayBufferLike, byteOffset: number, byteLength?: number, options?: InferenceSession.SessionOptions): Promise<InferenceSession>;
}

export const InferenceSession: InferenceSessionFactory = Object.assign(Session, {
  create: async (...given: unknown[]): Promise<InferenceSession> => (await import('./session.ts')).create(given),
});

// What onnxruntime-common has for those who write execution providers.
/* eslint-disable @typescript-eslint/no-namespace -- as above */
export declare namespace SessionHandler {
  type FeedsType = {[name: string]: OnnxValue};
  type FetchesType = {[name: string]: OnnxValue | null};
  type ReturnType = {[name: string]: OnnxValue};
}
/* eslint-enable @typescript-eslint/no-namespace */
export interface InferenceSessionHandler extends Omit<InferenceSession, 'release' | 'run' | 'specializedShapes'> {
  dispose(): Promise<void>;
  run(feeds: SessionHandler.FeedsType, fetches: SessionHandler.FetchesType, options: InferenceSession.RunOptions): Promise<SessionHandler.ReturnType>;
}
export interface Backend {
  init(backendName: string): Promise<void>;
  createInferenceSessionHandler(uriOrBuffer: string | Uint8Array, options?: InferenceSession.SessionOptions): Promise<InferenceSessionHandler>;
}
