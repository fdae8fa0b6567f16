/** All functions of nn.functional, as @gossamer/tensor/torch has them. */
import type {PerAxis} from '../products.ts';
import type {Tensor} from '../tensor.ts';
import {interpolate} from './functional.ts';

export * from '../composed/more_functional.ts';
export * from '../composed/more_losses.ts';
export * from './functional.ts';

/** interpolate(), under an older name. */
export {interpolate as upsample};
export const upsampleNearest = (x: Tensor, size?: PerAxis | null, scale?: PerAxis): Tensor => interpolate(x, size ?? undefined, scale, 'nearest');
export const upsampleBilinear = (x: Tensor, size?: PerAxis | null, scale?: PerAxis): Tensor => interpolate(x, size ?? undefined, scale, 'bilinear', true);
