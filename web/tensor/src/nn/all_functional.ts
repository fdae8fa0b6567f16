/** All functions of nn.functional, as @gossamer/tensor/torch has them. */
export * from '../composed/more_functional.ts';
export * from '../composed/more_losses.ts';
export * from './functional.ts';
