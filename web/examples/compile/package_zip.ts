/** A package as one file to keep: unpacked, it is the folder that load() takes. */
import {zipSync} from 'fflate';

/** Weights hardly shrink, so they are stored as they are. */
export const zipPackage = (files: ReadonlyMap<string, Uint8Array>): Uint8Array =>
  zipSync(
    Object.fromEntries(
      Array.from(files, ([name, bytes]) => [name, [bytes, {level: name.endsWith('.safetensors') ? 0 : 9}]] as const),
    ),
    {mtime: '1980-01-01T00:00:00'}, // the same package is the same file
  );
