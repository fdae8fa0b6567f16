// cpu packages in a process of their own (cpu/serve.cc, linked against the libraries of the checkout it measures).
import {execFileSync, spawn} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {basename, join} from 'node:path';
import {createInterface} from 'node:readline';
import {halfOf} from '../half.mjs';
import {bench, root} from '../layout.mjs';

/** The program, linked again when a library is newer. from: the root of the sources; build: their build folder. */
export function buildServe(from = root, build = join(from, 'build')) {
  const cache = join(bench, '.cache');
  mkdirSync(cache, {recursive: true});
  const program = join(cache, from === root ? 'serve' : `serve_${basename(from)}`);
  const wanted = ['runtime', 'package', 'ir', 'base'].map((name) => join(build, `libgossamer_${name}.a`));
  const libraries = wanted.filter((file) => existsSync(file));
  const sources = [join(bench, 'cpu/serve.cc')];
  const newest = Math.max(...[...libraries, ...sources].map((file) => statSync(file).mtimeMs));
  if (existsSync(program) && statSync(program).mtimeMs > newest) return program;
  const flags = ['-std=c++23', '-O2', '-fuse-ld=lld-19', `-I${join(from, 'src')}`, `-I${join(from, 'include')}`, `-I${from}`];
  execFileSync('clang++-19', [...flags, ...sources, '-o', program, ...libraries, '-ldl', '-lpthread'], {stdio: 'inherit'});
  return program;
}

/** A process that answers each line with one of JSON: {ask(line), hello: its first answer, close()}. */
async function openProcess(program, args) {
  const child = spawn(program, args, {stdio: ['pipe', 'pipe', 'pipe']});
  let said = '';
  child.stderr.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-10_000);
  });
  child.stdin.on('error', () => {}); // It ended; the next answer tells.
  const failed = new Promise((_, reject) => child.once('error', reject));
  const lines = createInterface({input: child.stdout})[Symbol.asyncIterator]();
  const answer = async () => {
    const {value, done} = await Promise.race([lines.next(), failed]);
    if (done) throw new Error(said.trim().split('\n').at(-1) || `${basename(program)} stopped`);
    return JSON.parse(value);
  };
  const hello = await answer();
  return {
    hello,
    ask: (command) => {
      child.stdin.write(`${command}\n`);
      return answer();
    },
    close: () => child.kill('SIGKILL'),
  };
}

const ARRAYS = {f32: Float32Array, f16: Uint16Array, i32: Int32Array, i64: BigInt64Array, i8: Int8Array, u8: Uint8Array, bool: Uint8Array};

/** A party (lib/compare.mjs) in a process that takes the graph's inputs as arguments and commands as cpu/serve.cc does. */
export async function openServed(program, args, graph) {
  const scratch = mkdtempSync(join(tmpdir(), 'gossamer-bench-cpu-'));
  const inputs = graph.inputs.map(({name, shape, data}, at) => {
    const file = join(scratch, `in${at}`);
    writeFileSync(file, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    return `${name}=${shape.join('x')}=${file}`;
  });
  const close = () => rmSync(scratch, {recursive: true, force: true});
  let served;
  try {
    served = await openProcess(program, [...args, ...inputs]);
  } catch (problem) {
    close();
    throw problem;
  }
  const timed = async () => {
    const {wall, cpu} = await served.ask('run 1');
    return {wall: wall[0], cpu: cpu[0]};
  };
  return {
    adapter: served.hello.device,
    timed,
    run: async () => {
      await timed();
      const {types} = await served.ask(`save ${join(scratch, 'out')}`);
      return types.map((type, at) => {
        const {buffer, byteOffset, length} = readFileSync(join(scratch, `out${at}`));
        const made = new ARRAYS[type](buffer.slice(byteOffset, byteOffset + length));
        return type === 'f16' ? Float32Array.from(made, halfOf) : made;
      });
    },
    close: () => {
      served.close();
      close();
    },
  };
}
