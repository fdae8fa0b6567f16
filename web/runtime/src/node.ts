/** Node's own modules, asked for in a way that bundlers for browsers do not stumble over. */
import type * as files from 'node:fs/promises';
import type * as threads from 'node:worker_threads';

interface NodeModules {
  'node:fs/promises': typeof files;
  'node:worker_threads': typeof threads;
}

export function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] {
  return process.getBuiltinModule(name);
}
