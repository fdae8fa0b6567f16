// Add "@gossamer/vite/client" to `types` in tsconfig.json, or `/// <reference types="@gossamer/vite/client" />`.
declare module '*.onnx' {
  const model: import('@gossamer/vite').CompiledModel;
  export default model;
}
