/** A module from hexadecimal digits, which gzip packs better than base64. */
export const wasmOf = (digits: string): Promise<WebAssembly.Module> =>
  WebAssembly.compile(Uint8Array.from(digits.match(/../g) ?? [], (byte) => parseInt(byte, 16)));
