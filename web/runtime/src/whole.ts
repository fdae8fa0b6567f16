/** The run time in one file: also with what others import from @gossamer/runtime/generate. */
export * from './index.ts';
export {GenerationCache} from './generate/cache.ts';
