/** What is known of feeds. */
import type {CompileOptions} from '../../compiler/src/index.ts';

/** What a compilation is told of the feeds: shapes, null where an extent stays open, values of inputs, which become constants, and inputs with a default that stay inputs. */
export type Known = Pick<CompileOptions, 'constants' | 'keepInputs' | 'shapes'>;

/** The same for the same. */
export const textOf = (known: Known): string => JSON.stringify(known, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
