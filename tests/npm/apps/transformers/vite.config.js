// As web/ort/README.md shows it.
export default {
  resolve: {alias: [{find: /^onnxruntime-(web|common)(\/.*)?$/, replacement: '@gossamer/ort'}]},
};
