/**
 * Runs packages made by the Gossamer compiler.
 *
 *     const model = await load('model/');
 *     const out = await model.run({image: tensor(pixels, [1, 3, 224, 224])});
 *     const logits = await out.logits.data();
 *
 * Importing this touches no DOM and starts nothing; backends are fetched when first used.
 */
export {load, type LoadOptions, type Progress} from './session/load.ts';
export {type DeviceOptions, openDevice} from './devices/open_device.ts';
export type {Feed} from './session/feeds.ts';
export type {GenerationCache} from './generate/cache.ts';
export type {TokenLogprob, TokenLogprobs} from './generate/logprobs.ts';
export type {GenerateOptions, TokenConstraint} from './generate/options.ts';
export type {Group} from './package/manifest.ts';
export type {
  CopyReport, Difference, KernelReport, Model, PortInfo, Report, Tuned, TunedKernel, TunedPart, TuneOptions, TuneProgress, Verdict, VerifyOptions,
} from './session/model.ts';
export type {KernelProfile, LaunchProfile, Limits, Profile, ProfileOptions} from './profile/profile.ts';
export type {Loss} from './session/recovery.ts';
export type {
  ComputeDevice, DeviceTensor, ImageOptions, ImageSource, Location, PartOptions, RunOptions, State, StatePairs,
  TextureSource,
} from './tensors/tensors.ts';
export {type Output, type StringTensor, tensor, type Tensor} from './values/tensor.ts';
export type {Files} from './package/source.ts';
export type {Fallback} from './devices/device.ts';
export {type DeviceKind, type DType, type ErrorCode, GossamerError, type TensorData} from './values/types.ts';
