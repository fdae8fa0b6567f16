import {hexOf} from './hex.ts';

/** SHA-256 by the platform, which takes all bytes at once: where WebAssembly is not allowed. Secure contexts have it. */
export class WholeSha256 {
  readonly #pieces: Uint8Array[] = [];

  update(bytes: Uint8Array): void {
    this.#pieces.push(bytes.slice());
  }

  /** 64 lower-case hexadecimal digits. */
  async digest(): Promise<string> {
    const bytes = await new Blob(this.#pieces as BlobPart[]).arrayBuffer();
    return hexOf(await crypto.subtle.digest('SHA-256', bytes));
  }
}
