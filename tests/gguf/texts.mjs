// @gossamer/llm and the compiler of pages on GGUF files, in Node.js: tokens, prompts and answers as Python has them, packages as the command line
// writes them.
import {execFileSync} from 'node:child_process';
import {existsSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {bundle} from '../../web/runtime/build/bundle.mjs';

const root = path.resolve(import.meta.dirname, '../..');
const said = (value) => JSON.stringify(value)?.slice(0, 300);

/** Modules of sources, for Node.js. */
export async function bundled(build, contents) {
  const outfile = path.join(build, `page_modules.${process.pid}.mjs`);
  await bundle({stdin: {contents, resolveDir: path.join(root, 'web')}, format: 'esm', platform: 'node', minify: false, outfile});
  try {
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(outfile);
  }
}

/** From a server: the beginning is read first, and all of it where no compiled model is kept. Servers may know no ranges. */
async function testServer({tally, folder, work, load, ...options}) {
  const asked = [];
  const server = http.createServer(({url, method, headers: {range}}, response) => {
    const name = url.split('/').at(-1).split('?')[0];
    if (!existsSync(path.join(folder, name))) return response.writeHead(404).end();
    const bytes = readFileSync(path.join(folder, name));
    const end = url.includes('ranges') && range ? Math.min(bytes.length, Number(range.split('-')[1]) + 1) : undefined;
    asked.push(`${method}${end === undefined ? '' : ' beginning'}`);
    const about = {etag: '"1"', 'content-length': end ?? bytes.length, ...(end !== undefined && {'content-range': `bytes 0-${end - 1}/${bytes.length}`})};
    return response.writeHead(end === undefined ? 200 : 206, about).end(method === 'HEAD' ? undefined : bytes.subarray(0, end));
  });
  await new Promise((resolve) => server.listen(0, resolve));
  const open = async (address) => {
    asked.length = 0;
    const llm = await load(`http://localhost:${server.address().port}/${address}`, {target: 'wasm', contextLength: 64, cache: path.join(work, 'kept'), ...options});
    llm.dispose();
    return asked.filter((each) => each !== 'HEAD').join(', ');
  };
  const expect = (name, wanted, has) => tally.record(name, has === wanted ? undefined : `asked: ${has}`);
  try {
    expect('a server, for the first time', 'GET beginning, GET', await open('ranges/qwen2.gguf?key=1'));
    expect('and again', 'GET beginning', await open('ranges/qwen2.gguf?key=1'));
    expect('a server without ranges', 'GET', await open('whole/qwen2.gguf'));
    const problem = await open('ranges/none.gguf').then(() => 'none', String);
    tally.record('a file that is not there', problem.includes('has no file none.gguf') ? undefined : problem);
  } finally {
    server.close();
  }
}

/** `names`: of the files in `folder`, with what make.py wrote of them. */
export async function testTexts({tally, folder, build, work, gossamer, names}) {
  const wasm = (name) => path.resolve(path.dirname(process.env.GOSSAMER_COMPILER_WASM ?? path.join(root, 'build-wasm/compiler.wasm')), name);
  if (!['compiler.wasm', 'gguf.wasm'].every((name) => existsSync(wasm(name)))) {
    tally.skip('texts, and packages of pages', 'compiler.wasm is not built (make wasm)');
    return;
  }
  const {load, compile} = await bundled(build, "export {load} from './llm/src/index.ts'; export {compile} from './compiler/src/index.ts';");
  const [compilerWasm, ggufWasm] = ['compiler.wasm', 'gguf.wasm'].map((name) => pathToFileURL(wasm(name)).href);
  for (const name of names) {
    const file = path.join(folder, `${name}.gguf`);
    const expected = JSON.parse(readFileSync(path.join(folder, `${name}.json`), 'utf8'));
    const llm = await load(file, {target: 'wasm', cache: false, compilerWasm, ggufWasm, contextLength: 128});
    const wrong = [];
    for (const [text, ids] of expected.rows) {
      const has = await llm.encode(text);
      if (String(has) !== String(ids)) wrong.push(`${said(text)} is\n${said(has)}, not\n${said(ids)}`);
    }
    tally.record(`${name}: tokens of ${expected.rows.length} texts`, wrong.length > 0 ? [`${wrong.length} differ`, ...wrong.slice(0, 2)] : undefined);
    const messages = [{role: 'user', content: 'the cat sat'}];
    const prompt = await llm.promptOf({messages});
    tally.record(`${name}: the prompt of a conversation`, prompt === expected.prompt ? undefined : `it is ${said(prompt)}`);
    const answer = await llm.chat.completions.create({messages, max_tokens: 10, temperature: 0});
    const {content} = answer.choices[0].message;
    // Of bytes that are no characters Python makes others.
    const wanted = await llm.decode(expected.answer_ids);
    tally.record(`${name}: its answer`, content === wanted && llm.name === name ? undefined : `${llm.name} says ${said(content)}, not ${said(wanted)}`);
    llm.dispose();
  }
  // A model in several files: by the path of the first, or all of them as a user chose them.
  const parts = readdirSync(folder).filter((name) => name.startsWith('parts-'));
  const {answer_ids: partIds} = JSON.parse(readFileSync(path.join(folder, 'qwen2.json'), 'utf8'));
  const chosen = (list) => list.map((name) => ({name, bytes: readFileSync(path.join(folder, name))}));
  for (const [form, from] of [['a path', path.join(folder, parts[0])], ['files', chosen(parts.toReversed())]]) {
    const llm = await load(from, {target: 'wasm', cache: false, compilerWasm, ggufWasm, contextLength: 128});
    const {choices: [{message: {content}}]} = await llm.chat.completions.create({messages: [{role: 'user', content: 'the cat sat'}], max_tokens: 10, temperature: 0});
    const wanted = await llm.decode(partIds);
    tally.record(`a model in several files, ${form}`, content === wanted && llm.name === 'parts' ? undefined : `${llm.name} says ${said(content)}, not ${said(wanted)}`);
    llm.dispose();
  }
  const lacking = await load(chosen([parts[0], parts[2]]), {target: 'wasm', cache: false, compilerWasm, ggufWasm}).then(() => 'none', String);
  tally.record('a model in several files, of which one is missing', lacking.includes('parts-00002-of-00003.gguf is missing') ? undefined : lacking);
  await testServer({tally, folder, work, load, compilerWasm, ggufWasm});
  // Bytes, and a Blob of which parts are read.
  const [name] = names;
  const bytes = readFileSync(path.join(folder, `${name}.gguf`));
  const native = path.join(work, 'native');
  execFileSync(gossamer, ['compile', path.join(folder, `${name}.gguf`), '--target', 'wasm', '--emit', 'package', '-o', native], {stdio: 'pipe'});
  for (const [form, model] of [['bytes', bytes], ['a Blob', new Blob([bytes])]]) {
    const files = await compile(model, {target: 'wasm', wasm: compilerWasm, ggufWasm, pieces: true});
    const differ = readdirSync(native).filter((each) => !files.has(each) || !Buffer.from(files.get(each)).equals(readFileSync(path.join(native, each))));
    tally.record(`the compiler of pages, ${form}: the package of the command line`, differ.length > 0 ? `${differ.join(', ')} of ${[...files.keys()].join(', ')}` : undefined);
  }
  const problem = await compile(bytes.subarray(0, bytes.length - 5000), {target: 'wasm', wasm: compilerWasm, ggufWasm}).then(() => 'none', String);
  tally.record('the compiler of pages, a file that is cut', /ends at byte \d+, the file has \d+.*downloaded completely/.test(problem) ? undefined : problem);
}
