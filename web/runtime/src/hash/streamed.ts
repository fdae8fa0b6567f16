/** Checks files as they arrive: outside of pages, where pages are not secure, and of packages whose manifests list no blocks. A bundle of its own. */
import type {FileEntry} from '../package/manifest.ts';
import {type Check, hasNodeHash} from './check.ts';
import {Sha256} from './sha256.ts';
import type {WholeSha256} from './whole_sha256.ts';

class NodeSha256 {
  readonly #hash = process.getBuiltinModule('node:crypto').createHash('sha256');

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}

async function openSha256(): Promise<NodeSha256 | Sha256 | WholeSha256> {
  if (hasNodeHash()) return new NodeSha256();
  // Pages may have a policy without WebAssembly, which GPUs do not need.
  return Sha256.create().catch(async () => new (await import('./whole_sha256.ts')).WholeSha256());
}

/** By its SHA-256, or by xxh3 where the manifest has no other. */
export async function checkStream({sha256, xxh3}: FileEntry): Promise<Check> {
  const hash = await (sha256 ? openSha256() : (await import('./xxh3.ts')).Xxh3.create());
  const wanted = sha256 || xxh3;
  return {
    arrived: (bytes) => hash.update(bytes),
    wrong: async () => {
      const digest = await hash.digest();
      return digest === wanted ? undefined : `has hash ${digest} instead of ${wanted}`;
    },
  };
}
