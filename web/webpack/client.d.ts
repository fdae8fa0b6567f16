// Add "@gossamer/webpack/client" to `types` in tsconfig.json, or `/// <reference types="@gossamer/webpack/client" />`.
declare module '*.onnx' {
  const model: import('@gossamer/webpack').CompiledModel;
  export default model;
}
