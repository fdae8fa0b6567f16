/** What is loaded where tensors stay on a device: by openDevice(), and by runs that say where outputs go. */
export {type ComputeDevice, deviceOf, DeviceTensor, open} from './device_tensor.ts';
export {type PartOptions, rangeOf} from './part.ts';
export type {ImageOptions, ImageSource, TextureSource} from '../image/image.ts';
export {type State, stateOf, type StatePairs} from './state.ts';
export {endsOf, type Location, type RunOptions} from './run_options.ts';
