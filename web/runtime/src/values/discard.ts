const {port1: nobody} = new MessageChannel();
nobody.close();

/** Frees an array's memory now, not at some collection. Leaves alone views of larger memory. */
export function discard({buffer, byteLength}: Uint8Array): void {
  if (byteLength === 0 || byteLength !== buffer.byteLength) return;
  const memory = buffer as ArrayBuffer & {transfer?(size: number): void};
  if (memory.transfer) memory.transfer(0);
  else nobody.postMessage(0, [memory]); // gone as well, in Node
}
