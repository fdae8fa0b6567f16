// node bench/models/make.mjs FOLDER: writes resnet18.onnx, mobilenetv2.onnx and matmul512.onnx there.
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {matmul, mobilenetv2, networkFile, resnet18} from './networks.mjs';

export function writeModels(folder) {
  mkdirSync(folder, {recursive: true});
  for (const net of [resnet18(), mobilenetv2()]) writeFileSync(join(folder, `${net.name}.onnx`), networkFile(net));
  const product = matmul(512);
  writeFileSync(join(folder, `${product.name}.onnx`), product.file());
}

if (process.argv[1] === import.meta.filename) writeModels(process.argv[2] ?? '.');
