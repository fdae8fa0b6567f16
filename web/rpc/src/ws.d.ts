/** As much of the package as is used: what browsers have. */
declare module 'ws' {
  export const WebSocket: typeof globalThis.WebSocket;
}
