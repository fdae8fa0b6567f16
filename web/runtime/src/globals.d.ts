/** A script for workers, bundled by the build (build/bundle.mjs): of the module's path. */
declare module 'worker:*' {
  const script: import('./devices/wasm/worker_script.ts').WorkerScript;
  export default script;
}
