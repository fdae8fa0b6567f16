const MAGIC = 'GGUF';

/** Whether a file is one of llama.cpp's, by how it begins. */
export async function isGguf(file: unknown): Promise<boolean> {
  const first = file instanceof Blob ? await file.slice(0, MAGIC.length).arrayBuffer() : file;
  const bytes = ArrayBuffer.isView(first) ? new Uint8Array(first.buffer, first.byteOffset, first.byteLength) : first instanceof ArrayBuffer ? new Uint8Array(first) : undefined;
  return bytes !== undefined && bytes.length >= MAGIC.length && [...MAGIC].every((letter, at) => bytes[at] === letter.charCodeAt(0));
}
