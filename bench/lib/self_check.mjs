// Before anything is timed: the .tflite files are the networks. LiteRT.js and onnxruntime-web compute the same of each.
import {drive} from './drive.mjs';

/** Throws, naming the networks, unless both agree. drive's arguments. */
export async function checkTflite(folders, networks, {settings, packages, browser}) {
  const rows = [];
  const comparisons = networks.map((model) => ({model, device: 'wasm', threads: 1, parties: ['ort-wasm', 'litert']}));
  await drive(folders, comparisons, {settings: {...settings, rounds: 1, warmup: 0}, packages, browser, save: (row) => rows.push(row)});
  packages.clear();
  const agrees = ({parties}) => parties.length === 2 && parties.every(({wrong}) => wrong === false);
  const bad = networks.filter((name) => !rows.some((row) => row.model === name && agrees(row)));
  if (bad.length) throw new Error(`LiteRT.js does not compute what ONNX Runtime does: ${bad.join(', ')} (${JSON.stringify(rows.flatMap(({parties}) => parties.map(({problem, error}) => problem ?? error)))})`);
}
