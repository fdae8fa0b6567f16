// What `gossamer serve` bears: requests a second and latencies of a small model under 1 to 200 clients, by wrk.
//
//   node bench/serve.mjs [MODEL.onnx]
import {execFileSync, spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const model = process.argv[2] ?? path.join(root, 'examples/digits/model.onnx');
const seconds = 5;
const work = mkdtempSync(path.join(os.tmpdir(), 'gossamer-serve-'));

async function start(args) {
  const server = spawn(path.join(root, 'build/gossamer'), ['serve', `m=${model}`, '--port', '0', ...args],
    {stdio: ['ignore', 'pipe', 'inherit']});
  const url = await new Promise((resolve, reject) => {
    server.stdout.on('data', (data) => resolve(data.toString().trim()));
    server.on('exit', () => reject(new Error('the server has ended')));
  });
  return {server, url};
}

// A request of binary tensors with seeded values, as wrk's own scripts say one. Free dimensions are 1.
function script(inputs) {
  const tensors = inputs.map(({name, datatype, shape}) => {
    const extents = shape.map((extent) => Math.max(extent, 1));
    const count = extents.reduce((product, extent) => product * extent, 1);
    if (datatype !== 'FP32') throw new Error(`${name} is ${datatype}: this command makes FP32 alone`);
    const bytes = Buffer.from(Float32Array.from({length: count}, (_, at) => Math.sin(at)).buffer);
    return {bytes, json: {name, datatype, shape: extents, parameters: {binary_data_size: bytes.length}}};
  });
  const json = Buffer.from(JSON.stringify({inputs: tensors.map((tensor) => tensor.json)}));
  const body = Buffer.concat([json, ...tensors.map((tensor) => tensor.bytes)]);
  const escaped = [...body].map((byte) => `\\${String(byte).padStart(3, '0')}`).join('');
  return `wrk.method = "POST"
wrk.headers["Inference-Header-Content-Length"] = "${json.length}"
wrk.body = "${escaped}"
done = function(summary, latency, requests)
  io.write(string.format("RESULT %d %d %f %f %f\\n", summary.requests, summary.errors.connect + summary.errors.read +
    summary.errors.write + summary.errors.status + summary.errors.timeout, latency:percentile(50) / 1000,
    latency:percentile(95) / 1000, latency:percentile(99) / 1000))
end
`;
}

try {
  console.log('| joined rows | clients | requests/s | p50 ms | p95 ms | p99 ms | failed |\n|---|---|---|---|---|---|---|');
  for (const batch of [1, 16]) {
    const {server, url} = await start(['--max-batch', String(batch), '--max-waiting', '1000']);
    const {inputs} = await (await fetch(`${url}/v2/models/m`)).json();
    writeFileSync(path.join(work, 'post.lua'), script(inputs));
    for (const clients of [1, 16, 200]) {
      const text = execFileSync('wrk', ['-t1', `-c${clients}`, `-d${seconds}s`, '-s', path.join(work, 'post.lua'),
        `${url}/v2/models/m/infer`], {encoding: 'utf8'});
      const [count, failed, ...times] = /RESULT (.*)/.exec(text)[1].split(' ').map(Number);
      const row = [batch, clients, Math.round(count / seconds), ...times.map((time) => time.toFixed(2)), failed];
      console.log(`| ${row.join(' | ')} |`);
    }
    server.kill('SIGTERM');
    await new Promise((resolve) => server.on('exit', resolve));
  }
} catch (error) {
  if (error.code !== 'ENOENT') throw error;
  console.error(`${error.path} is missing: apt-get install wrk`);
  process.exitCode = 1;
} finally {
  rmSync(work, {recursive: true});
}
