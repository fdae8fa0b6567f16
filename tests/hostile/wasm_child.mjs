// Compiles each model named on stdin with compiler.wasm. Prints a line for each file: {problem, seconds, bytes}, with a problem if it neither
// worked nor was refused, and the CPU time and memory of this process.
import {readFileSync} from 'node:fs';
import {createInterface} from 'node:readline';
import {CompileError, compile} from '../../web/compiler/dist/compiler.js';

const wasm = new WebAssembly.Module(readFileSync(new URL('../../web/compiler/dist/compiler.wasm', import.meta.url)));

async function judge(file) {
  try {
    const files = await compile(readFileSync(file), {target: 'webgpu', wasm});
    const manifest = JSON.parse(new TextDecoder().decode(files.get('manifest.json')));
    const wrong = manifest.files.find(({name, bytes}) => files.get(name)?.length !== bytes);
    return wrong ? `${wrong.name} is not as listed` : undefined;
  } catch (problem) {
    if (!(problem instanceof CompileError)) return String(problem);
    const {message} = problem;
    return message.includes('the compiler stopped') || message.includes('\n') ? message : undefined;
  }
}

for await (const file of createInterface({input: process.stdin})) {
  const begin = process.cpuUsage();
  const problem = await judge(file);
  const {user, system} = process.cpuUsage(begin);
  console.log(JSON.stringify({problem, seconds: (user + system) / 1e6, bytes: 1024 * process.resourceUsage().maxRSS}));
}
