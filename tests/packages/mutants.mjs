// Finds the checks in the sources of the loaders and makes each of them one that can be left out: every condition
// that leads to an error, operand by operand, and every limit of an integer.
import {spawn} from 'node:child_process';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import path from 'node:path';
import {commandsOfSources} from '../../tools/check/compile_commands.mjs';

/** Where the bracket that opens at `from` closes. */
function closing(text, from) {
  let depth = 0;
  for (let at = from; at < text.length; ++at) {
    const letter = text[at];
    if (letter === '/' && text[at + 1] === '/') at = text.indexOf('\n', at);
    else if (letter === '/' && /[(,=]\s*$/.test(text.slice(Math.max(0, at - 3), at))) {
      while (text[++at] !== '/') if (text[at] === '\\') ++at; // a regular expression
    } else if (`'"\``.includes(letter)) {
      while (text[++at] !== letter) if (text[at] === '\\') ++at;
    } else if ('([{'.includes(letter)) ++depth;
    else if (')]}'.includes(letter) && --depth === 0) return at;
  }
  throw new Error(`no closing bracket: ${text.slice(from, from + 80)}`);
}

/** The pieces of a text between separators outside of brackets: [begin, end]. */
function pieces(text, begin, end, separator) {
  const all = [];
  let from = begin;
  for (let at = begin; at < end; ++at) {
    if ('([{'.includes(text[at])) at = closing(text, at);
    else if (`'"\``.includes(text[at])) {
      const quote = text[at];
      while (text[++at] !== quote) if (text[at] === '\\') ++at;
    } else if (text.startsWith(separator, at)) {
      all.push([from, at]);
      from = at + separator.length;
      at = from - 1;
    }
  }
  return [...all, [from, end]];
}

const TS = {
  made: /\b(?:wrong|damaged)\(|new GossamerError\(\s*'damaged'/g,
  error: /^\{?\s*(?:const [^;]*;\s*)?((return )?[\w.?]*\b(wrong|damaged)\(|throw new GossamerError\(\s*('damaged'|'input',\s*['`](these dimensions|output)))/,
  off: (number) => `globalThis.checkLeftOut === ${number}`,
  limit: (number, sign, argument) => `(globalThis.checkLeftOut === ${number} ? ${sign}(2 ** 53) : (${argument}))`,
  keep: /^\s*(ANY|-ANY|undefined|0)\s*$/,
};
const CC = {
  made: /\b(?:wrong|bad|fail|fail_at)\(/g,
  error: /^\{?\s*((return )?[\w.[\]]*(fields\("plan"\)\.)?\b(wrong|bad|fail|fail_at)\()/,
  off: (number) => `gossamer_check_left_out == ${number}`,
  limit: (number, sign, argument) => `(gossamer_check_left_out == ${number} ? ${sign}(int64_t{1} << 53) : static_cast<int64_t>(${argument}))`,
  keep: /^\s*(any_count|-any_count|\{\}|0)\s*$/,
};

/**
 * Errors that stand under no `if` that can be left out, by a piece of their text, and why. Whatever else a loader says
 * must stand behind a check that was found, so that a source written in another way is noticed.
 */
const WITHOUT_CHECK = new Map([
  ['wrong(key: string | number, wanted: string): never {', 'makes the error'],
  ['throw new GossamerError(\'damaged\', `${this.#at(key)} is not', 'makes the error'],
  ['void Fields::wrong(', 'makes the error'],
  ['throw new GossamerError(\'damaged\', `${where}: ${what}`)', 'makes the error'],
  ['return fail_at(tensor_in(slot, sizes), what,', 'makes the error'],
  ['return fail_at(cat("kernel ", kernel.name),', 'makes the error'],
  ['manifest.json is not JSON', 'of what JSON.parse throws'],
  ['damaged(\'its header is not JSON\')', 'of what JSON.parse throws'],
  ['\'a step that this run time knows\'', 'the last of the kinds of step'],
  ['fields.wrong("*", "a step that this run time knows")', 'the last of the kinds of step'],
  ['return fail_at(path, "is not a file")', 'of the file system'],
  ['${file}: "${name}" is ${has}', 'returns before where all is well'],
  ['return fail_at(cat("input \\"", inputs[input].name', 'of feeds'],
  ['a number too large to count with', 'returns before where all is well'],
]);

/** Throws, naming the line, for an error that is neither in the table nor under a check of `claimed`. */
function requireChecks(text, file, language, claimed) {
  for (const {index} of text.matchAll(language.made)) {
    if (claimed.some(([begin, end]) => begin < index && index < end)) continue;
    const rest = text.slice(text.lastIndexOf('\n', index) + 1, index + 200);
    if (![...WITHOUT_CHECK.keys()].some((piece) => rest.includes(piece))) {
      const line = text.slice(0, index).split('\n').length;
      throw new Error(`${file}:${line}: tests/packages/mutants.mjs finds no check before this error, so none can be left out: ` +
        `write it as "if (condition) error", or say in WITHOUT_CHECK why there is none: ${rest.split('\n')[0].trim()}`);
    }
  }
}

/** Throws for a line of the table whose text is gone. */
function requireTable(root) {
  const all = [...WEB, ...NATIVE].map((file) => readFileSync(path.join(root, file), 'utf8')).join('\n');
  const gone = [...WITHOUT_CHECK.keys()].filter((piece) => !all.includes(piece));
  if (gone.length > 0) throw new Error(`tests/packages/mutants.mjs: no source says what WITHOUT_CHECK excuses: ${gone.join('; ')}`);
}

/** Rewrites one source; `checks` gets {number, file, line, what} of each check. */
function rewrite(text, file, language, checks, skip) {
  const edits = []; // [begin, end, make(text)]
  const claimed = []; // [begin, end] of what a condition leads to
  const note = (at, what) => {
    const line = text.slice(0, at).split('\n').length;
    checks.push({number: checks.length, file, line, what: what.replace(/\s+/g, ' ')});
    return checks.length - 1;
  };
  for (const {index} of text.matchAll(/\bif (?=\()/g)) {
    const open = index + 3;
    const close = closing(text, open);
    const after = text.slice(close + 1).trimStart();
    if (language.error.test(after)) {
      const block = text.length - after.length;
      claimed.push([close, after.startsWith('{') ? closing(text, block) : text.indexOf(';', close)]);
    }
    if (!language.error.test(after) || skip.test(after.slice(0, 300)) || skip.test(text.slice(open, close))) continue;
    const [declared] = /^auto [^;{}]*;/.exec(text.slice(open + 1, close)) ?? ['']; // if (auto x = ...; condition)
    for (const [begin, end] of pieces(text, open + 1 + declared.length, close, '||')) {
      const number = note(begin, text.slice(begin, end));
      edits.push([begin, end, `(!(${language.off(number)}) && (${text.slice(begin, end).trim()}))`]);
    }
  }
  for (const match of text.matchAll(/(?<=[\w)])\.(count|number)\(/g)) {
    const open = match.index + match[0].length - 1;
    const close = closing(text, open);
    const given = pieces(text, open + 1, close, ',');
    const [below, least] = match[1] === 'count' ? [1, 3] : [2, 3];
    for (const [at, sign] of [[below, ''], [least, '-']]) {
      const [begin, end] = given[at] ?? [0, 0];
      const argument = text.slice(begin, end).trim();
      // What is no tensor has no elements that are integers, which is checked next and said in the same words.
      if (argument === '' || language.keep.test(argument) || given[0] && /^"read"$/.test(text.slice(...given[0]).trim())) continue;
      const number = note(begin, `${text.slice(match.index, close)} without ${argument}`);
      edits.push([begin, end, ` ${language.limit(number, sign, argument)}`]);
    }
  }
  // A name of a file that is read as any text.
  for (const {index, 0: call} of text.matchAll(/(?<=[\w?])\??\.(name|plain_name)\((?=['"])/g)) {
    const close = closing(text, index + call.length - 1);
    const number = note(index, text.slice(index, close + 1));
    const start = /[\w.]*$/.exec(text.slice(0, index))[0].length;
    const whole = text.slice(index - start, close + 1);
    const other = whole.replace(/\.(name|plain_name)\(/, '.text(');
    edits.push([index - start, close + 1, `(${language.off(number)} ? ${other} : ${whole})`]);
  }
  requireChecks(text, file, language, claimed);
  // Inner edits first; an outer one takes the text as it then is.
  edits.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  for (const [begin, end, other] of edits) text = text.slice(0, begin) + other + text.slice(end);
  return text;
}

/** Errors that are not the manifest's: of feeds, devices and index.json (web/runtime/tests/servers.test.ts). */
const NOT_THE_MANIFEST = /no such file|cannot be mapped|is not a file|a folder below|there is no kernel|\bcheck\.message|does not fit|compile the model for this machine|was compiled for pages|feeds|kernels\.so|the model has|is given|run time runs|one device|no size"|shape without a size|problem\)|able\.error|stored\.error|written\.error|not of the type|disposed|dimension /;

const WEB = ['fields', 'manifest', 'steps', 'safetensors', 'memory', 'initialize', 'steps/step_run', 'session'].map((name) => `web/runtime/src/${name}.ts`);
const NATIVE = ['fields', 'manifest', 'mapped_file', 'device', 'model', 'model_weights', 'model_run', 'model_steps'].map((name) => `runtime/${name}.cc`);

/** The web loader as one script, its checks such as can be left out, and what they are. */
export async function bundleWeb(root, out) {
  requireTable(root);
  const {build} = await import(path.join(root, 'web/node_modules/esbuild/lib/main.js'));
  const checks = [];
  const sources = new Map(
    WEB.map((file) => [path.join(root, file), rewrite(readFileSync(path.join(root, file), 'utf8'), file, TS, checks, NOT_THE_MANIFEST)]),
  );
  await build({
    entryPoints: [path.join(root, 'tests/packages/web_loader.mjs')],
    bundle: true, format: 'esm', platform: 'node', outfile: out, logLevel: 'error',
    plugins: [{
      name: 'checks',
      setup: ({onLoad, onResolve}) => {
        onLoad({filter: /\.ts$/}, ({path: file}) => (sources.has(file) ? {contents: sources.get(file), loader: 'ts'} : undefined));
        // Devices are the tests' own.
        onResolve({filter: /^worker:/}, (found) => ({path: found.path, namespace: 'worker'}));
        onLoad({filter: /.*/, namespace: 'worker'}, () => ({contents: 'export default undefined'}));
      },
    }],
  });
  return checks;
}

const finished = (child) => new Promise((resolve) => child.on('close', (code) => resolve(code)));

/** The same natively, compiled with the build's own options. */
export async function buildNative(root, build, out) {
  const checks = [];
  const commands = commandsOfSources(path.join(root, build));
  const objects = [];
  const jobs = [];
  mkdirSync(out, {recursive: true});
  for (const file of [...NATIVE, 'tests/packages/native_loader.cc']) {
    const command = commands.find((one) => one.file.endsWith(`/${file}`));
    const source = path.join(out, path.basename(file));
    const text = readFileSync(path.join(root, file), 'utf8');
    const weak = '#include <cstdint>\nextern int gossamer_check_left_out;\n';
    const driver = file.startsWith('tests/');
    writeFileSync(source, driver ? text : weak + rewrite(text, file, CC, checks, NOT_THE_MANIFEST));
    const object = `${source}.o`;
    const words = command.command.split(' ').filter((word) => !/^-(Werror|W|O\d|c$|o$)/.test(word) && !word.endsWith('.o') && !/\.cc$|\.cxx$/.test(word));
    objects.push(object);
    jobs.push([words[0], [...words.slice(1), '-w', '-O1', '-c', source, '-o', object], command.directory]);
  }
  const compile = async ([program, args, cwd]) => {
    if ((await finished(spawn(program, args, {cwd, stdio: 'inherit'}))) !== 0) throw new Error(`${args.at(-3)} does not compile`);
  };
  for (let at = 0; at < jobs.length; at += 2) await Promise.all(jobs.slice(at, at + 2).map(compile));
  const libraries = ['runtime', 'package', 'ir', 'base'].map((name) => path.join(root, build, `libgossamer_${name}.a`));
  const program = path.join(out, 'native_loader');
  const clang = jobs[0][0].endsWith('ccache') ? jobs[0][1][0] : jobs[0][0];
  const link = [...objects, '-Wl,--start-group', ...libraries, '-Wl,--end-group', '-ldl', '-lpthread', '-lxxhash', '-o', program];
  if ((await finished(spawn(clang, link, {stdio: 'inherit'}))) !== 0) throw new Error('the loader does not link');
  return {checks, program};
}
