/**
 * onnxruntime-web's names on Gossamer: models are compiled in the page, kept there by their hash, and run by its run time.
 *
 *     import * as ort from '@gossamer/ort';
 *     const session = await ort.InferenceSession.create('model.onnx', {executionProviders: ['webgpu', 'wasm']});
 *     const {output} = await session.run({input: new ort.Tensor('float32', values, [1, 3, 224, 224])});
 *
 * Importing this touches no DOM and starts nothing; the run time and the compiler are fetched for the first session.
 */
import type {DataTypeMap as AnyDataTypeMap, ElementType} from './element_types.ts';
import {env} from './env.ts';
import type {RunOptions as AnyRunOptions, SessionOptions as AnySessionOptions, ValueMetadata as AnyValueMetadata} from './options.ts';
import type {ExecutionProviderConfig as AnyProvider} from './providers.ts';
import {type Feeds, type Fetches, InferenceSession as Session, type Results} from './session.ts';
import {type DataLocation as AnyLocation, Tensor as AnyTensor} from './tensor.ts';

export {env, type Env} from './env.ts';
export type {ImageDataOptions, ImageFormat, ImageSource, ImageTensorLayout, TensorFromImageOptions} from './image.ts';
export type {ExternalDataFile} from './model_bytes.ts';

/* eslint-disable @typescript-eslint/no-namespace -- code for onnxruntime-web says InferenceSession.SessionOptions and Tensor.Type */
export const InferenceSession = Session;
export type InferenceSession = Session;
export declare namespace InferenceSession {
  type SessionOptions = AnySessionOptions;
  type RunOptions = AnyRunOptions;
  type FeedsType = Feeds;
  type FetchesType = Fetches;
  type ReturnType = Results;
  type OnnxValueMapType = Results;
  type ValueMetadata = AnyValueMetadata;
  type ExecutionProviderConfig = AnyProvider;
}

export const Tensor = AnyTensor;
export type Tensor<T extends ElementType = ElementType> = AnyTensor<T>;
export type TypedTensor<T extends ElementType> = AnyTensor<T>;
export declare namespace Tensor {
  type Type = ElementType;
  type DataTypeMap = AnyDataTypeMap;
  type DataType = AnyDataTypeMap[ElementType];
  type DataLocation = AnyLocation;
}
/* eslint-enable @typescript-eslint/no-namespace */

export default {InferenceSession: Session, Tensor: AnyTensor, env};
