// Models and test cases that are not part of this repository. They are optional: a suite that finds none uses cases of
// its own, or skips with a reason. tests/shared.txt is the only place that names their folder (tools/check/shared.mjs).
import {readFileSync} from 'node:fs';
import path from 'node:path';

/**
 * The path of something in the shared folder, whether it exists or not. GOSSAMER_SHARED names another folder;
 * with "none" nothing is found, as in a clone that has no such folder next to it.
 */
export function shared(root, ...parts) {
  const folder = process.env.GOSSAMER_SHARED ?? readFileSync(path.join(root, 'tests/shared.txt'), 'utf8').trim();
  return path.resolve(root, folder === 'none' ? 'tests/none' : folder, ...parts);
}

/** The same below its test data: models with expected outputs, and operator cases. */
export const testdata = (root, ...parts) => shared(root, 'testdata', ...parts);
