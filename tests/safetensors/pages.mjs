// @gossamer/llm on folders with safetensors files, in Node.js: answers as Python has them, packages as the command line writes them, and
// servers, of which parts are asked for.
import {existsSync, openAsBlob, readdirSync, readFileSync} from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {bundled} from '../gguf/texts.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const MESSAGES = [{role: 'user', content: 'the cat sat'}];

/** `asked`: paths with a mark for those of which parts are asked for. */
async function withServer(folder, hasRanges, use) {
  const asked = [];
  const server = http.createServer(({url, method, headers: {range}}, response) => {
    const file = path.join(folder, url.split('?')[0]);
    if (!existsSync(file)) return response.writeHead(404).end();
    const bytes = readFileSync(file);
    const [from, to] = (hasRanges && /^bytes=(\d+)-(\d+)$/.exec(range ?? '')?.slice(1).map(Number)) || [];
    if (method === 'GET' && file.endsWith('.safetensors')) asked.push(`${path.basename(file)}${from === undefined ? '' : ' part'}`);
    const part = from === undefined ? bytes : bytes.subarray(from, to + 1);
    const about = {etag: '"1"', 'content-length': part.length, ...(from !== undefined && {'content-range': `bytes ${from}-${from + part.length - 1}/${bytes.length}`})};
    return response.writeHead(from === undefined ? 200 : 206, about).end(method === 'HEAD' ? undefined : part);
  });
  await new Promise((resolve) => server.listen(0, resolve));
  try {
    return await use(`http://localhost:${server.address().port}/`, asked);
  } finally {
    server.close();
  }
}

export async function testPages({tally, folder, build, work, names}) {
  const wasm = (name) => path.resolve(path.dirname(process.env.GOSSAMER_COMPILER_WASM ?? path.join(root, 'build-wasm/compiler.wasm')), name);
  if (!['compiler.wasm', 'gguf.wasm'].every((name) => existsSync(wasm(name)))) {
    tally.skip('pages', 'compiler.wasm is not built (make wasm)');
    return;
  }
  const {load, compile, translateSafetensors} = await bundled(build, `
    export {load} from './llm/src/index.ts';
    export {compile} from './compiler/src/index.ts';
    export {translateSafetensors} from './compiler/src/safetensors.ts';`);
  const [compilerWasm, ggufWasm] = ['compiler.wasm', 'gguf.wasm'].map((name) => pathToFileURL(wasm(name)).href);
  const common = {target: 'wasm', contextLength: 128, compilerWasm, ggufWasm};
  const says = async (from, options = {}) => {
    const llm = await load(from, {...common, cache: false, ...options});
    const {choices: [{message: {content}}]} = await llm.chat.completions.create({messages: MESSAGES, max_tokens: 10, temperature: 0});
    return {content, decode: (answer) => llm.decode(answer), llm};
  };
  for (const name of names) {
    const {answer_ids: ids} = JSON.parse(readFileSync(path.join(folder, `${name}.json`), 'utf8'));
    const {content, decode, llm} = await says(path.join(folder, name));
    const wanted = await decode(ids);
    tally.record(`${name} in a page: its answer`, content === wanted && llm.name === name ? undefined : `${llm.name} says ${JSON.stringify(content)}, not ${JSON.stringify(wanted)}`);
    llm.dispose();
  }

  // The package of the command line, which tests of the other forms have made on the cpu alone.
  const part = (from) => async (name, offset, length) => {
    const file = path.join(from, name);
    if (!existsSync(file)) return undefined;
    const bytes = readFileSync(file);
    return {bytes: bytes.subarray(offset, offset + length), size: bytes.length};
  };
  const filesOf = (from) => ({text: async (name) => (existsSync(path.join(from, name)) ? readFileSync(path.join(from, name), 'utf8') : undefined), part: part(from)});
  const native = path.join(work, 'llama.wasm.q4');
  if (existsSync(native)) {
    const {model, made} = await translateSafetensors(filesOf(path.join(folder, 'llama')), {wasm: ggufWasm});
    const files = await compile(model, {target: 'wasm', externalData: made, wasm: compilerWasm, pieces: true});
    const differ = readdirSync(native).filter((each) => !files.has(each) || !Buffer.from(files.get(each)).equals(readFileSync(path.join(native, each))));
    tally.record('in a page: the package of the command line', differ.length > 0 ? `${differ.join(', ')} of ${[...files.keys()].join(', ')}` : undefined);
  }

  for (const dtype of ['q8', 'fp16', 'fp32']) {
    const {content, llm} = await says(path.join(folder, 'llama'), {dtype});
    tally.record(`in a page: ${dtype}`, typeof content === 'string' ? undefined : 'it says nothing');
    llm.dispose();
  }

  const given = await Promise.all(readdirSync(path.join(folder, 'qwen3')).map(async (name) => [`qwen3/${name}`, await openAsBlob(path.join(folder, 'qwen3', name))]));
  const fromDisk = await says(path.join(folder, 'qwen3'));
  const fromFiles = await says(new Map(given));
  tally.record('in a page: files that a user chose', fromFiles.content === fromDisk.content ? undefined : `it says ${fromFiles.content}, not ${fromDisk.content}`);

  for (const hasRanges of [true, false])
    await withServer(path.join(folder, 'qwen3'), hasRanges, async (address, asked) => {
      const progress = [];
      const kept = {cache: path.join(work, `kept.${hasRanges}`), onProgress: ({stage, done, total}) => stage === 'download' && progress.push(done / total)};
      const {content} = await says(address, kept);
      const whole = asked.filter((each) => !each.endsWith(' part'));
      const rising = progress.at(-1) === 1 && progress.every((each, at) => at === 0 || each >= progress[at - 1]);
      const right = content === fromDisk.content && rising && (hasRanges ? whole.length === 0 : new Set(whole).size === 3 && whole.length === 3);
      tally.record(`a server ${hasRanges ? 'with' : 'without'} ranges`, right ? undefined : `says ${content}; asked for ${asked.join(', ')}; progress ${progress.join(' ')}`);
      asked.length = 0;
      await says(address, kept);
      tally.record('and again: the kept model', asked.length <= 1 ? undefined : `asked for ${asked.join(', ')}`);
    });

  const problem = async (change, options) => {
    const files = new Map(await Promise.all(given.map(async ([name, blob]) => [name, new Uint8Array(await blob.arrayBuffer())])));
    change(files);
    return load(files, {...common, cache: false, ...options}).then(() => 'none', String);
  };
  const expect = async (name, words, change, options) => {
    const text = await problem(change, options);
    tally.record(`in a page: ${name}`, words.test(text) ? undefined : text);
  };
  const second = 'qwen3/model-00002-of-00003.safetensors';
  await expect('one of several files is missing', /lacks model-00002-of-00003\.safetensors, one of the 3 files/, (files) => files.delete(second));
  await expect('one that is cut', /the file is cut: download it again/, (files) => files.set(second, files.get(second).subarray(0, -100)));
  await expect('an unknown architecture', /kind "gpt_oss".*use a model of llama/, (files) => files.set('qwen3/config.json', new TextEncoder().encode('{"model_type": "gpt_oss", "max_position_embeddings": 512}')));
  await expect('a dtype that there is not', /weights in q4f16; those of its safetensors files can be q4, q8, fp16, fp32/, () => undefined, {dtype: 'q4f16'});
  await expect('a folder without a network', /has none of onnx\/model_q4f16\.onnx/, (files) => {
    for (const name of [...files.keys()]) if (name.includes('.safetensors')) files.delete(name);
  });
}
