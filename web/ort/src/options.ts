/** Options of sessions as they are given. */
import type {SessionOptions} from './session_options.ts';

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
