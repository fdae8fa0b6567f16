/**
 * onnxruntime-web's names on Gossamer: models are compiled in the page, kept there by their hash, and run by its run time.
 *
 *     import * as ort from '@gossamer/ort';
 *     const session = await ort.InferenceSession.create('model.onnx', {executionProviders: ['webgpu', 'wasm']});
 *     const {output} = await session.run({input: new ort.Tensor('float32', values, [1, 3, 224, 224])});
 *
 * Importing this touches no DOM and starts nothing; the run time and the compiler are fetched for the first session.
 */
import {env, gpu} from './env.ts';
import {InferenceSession} from './session_api.ts';
import {Tensor} from './tensor_api.ts';

export {env, type Env} from './env.ts';
export * from './session_api.ts';
export * from './tensor_api.ts';
export * from './without_effect.ts';

gpu.open = async () => (await import('./providers.ts')).openGpu();

export default {InferenceSession, Tensor, env};
