/** gossamer compile: a model to a package, and the page that runs it. */
import {readFile} from 'node:fs/promises';
import {basename, dirname, extname, resolve} from 'node:path';
import {type Command, Option} from 'commander';
import type {StoredType} from '../../compiler/src/safetensors.ts';
import {compileFor, manifestOf} from './compiled.ts';
import {addCompileOptions, addNativeOnly, compileOptionsOf, nativeOnly, type Target, TARGETS, targetsNamed} from './compile_options.ts';
import {UsageError} from './failure.ts';
import {addFixedInputs, type FixedInputs, readFixed} from './fixed_inputs.ts';
import {DTYPES, isModelFolder, openModel} from './model_file.ts';
import {type Files, singlePage, withPage, writePackage, writeWhole} from './package_files.ts';
import {Progress} from './progress.ts';
import {addRecordOptions, type RecordOptions} from './records.ts';

interface Options extends FixedInputs, RecordOptions, Readonly<Record<string, unknown>> {
  readonly target: readonly Target[];
  readonly output: string;
  readonly emit?: 'package' | 'page';
  readonly singleFile?: boolean;
  readonly labels?: string;
  readonly name?: string;
  readonly dtype?: StoredType;
  readonly json?: boolean;
}

const LIBRARIES = ['object', 'static-lib', 'shared-lib', 'c', 'wasi', 'oci', 'component'];

interface Row {
  readonly target: Target;
  readonly files: Files;
  readonly ms: number;
}

/** Several packages have folders of their own, which index.json lists, and large weights are there once. */
function joined(rows: readonly Row[]): Files {
  if (rows.length === 1) return (rows[0] as Row).files;
  const variants = Object.fromEntries(rows.map(({target}) => [target, `${target}/`]));
  const all = new Map<string, Uint8Array>([['index.json', new TextEncoder().encode(JSON.stringify({variants}))]]);
  for (const {target, files} of rows) {
    const above = new Set(manifestOf(files).files.filter((file) => file.above).map(({name}) => name));
    for (const [name, bytes] of files) all.set(above.has(name) ? name : `${target}/${name}`, bytes);
  }
  return all;
}

function print(rows: readonly Row[], {output, json}: Options): void {
  const told = rows.map(({target, files, ms}) => ({
    target, kernels: manifestOf(files).kernels.length, ms,
    files: Array.from(files, ([name, bytes]) => ({name, bytes: bytes.length})),
  }));
  if (json) {
    console.log(JSON.stringify({output, packages: told}));
    return;
  }
  for (const {target, kernels, ms, files} of told) {
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    console.log(`${target}: ${kernels} kernels, ${(bytes / 1e3).toFixed(1)} KB in ${files.length} files, ${ms.toFixed(0)} ms -> ${output}`);
  }
}

/** What a page calls the model: its name, or that of its file or folder. */
async function titleOf(model: string, name: string | undefined): Promise<string> {
  if (name !== undefined) return name;
  const path = resolve(model);
  if (await isModelFolder(model)) return basename(path);
  const stem = basename(path, extname(path));
  return stem === 'model' ? basename(dirname(path)) : stem;
}

async function run(model: string, options: Options): Promise<void> {
  const {target: targets, output, emit, singleFile, labels, name, dtype, json} = options;
  if (singleFile && emit === 'package') throw new UsageError('--single-file makes a page');
  const progress = new Progress(json === true);
  try {
    const given = {...compileOptionsOf(options), ...(await readFixed(options)), ...(targets.length > 1 && {shareWeights: true})};
    const text = labels === undefined ? undefined : await readFile(labels, 'utf8');
    const file = await openModel(model, dtype);
    const rows: Row[] = [];
    for (const target of targets) {
      const begin = performance.now();
      rows.push({target, files: await compileFor(target, file, model, given, options, progress), ms: performance.now() - begin});
    }
    progress.end();
    const page = {name: await titleOf(model, name), labels: text, isSeveral: targets.length > 1};
    const files = joined(rows);
    if (singleFile) await writeWhole(output, await singlePage(files, page));
    else await writePackage(output, emit === 'package' ? files : await withPage(files, page));
    print(rows, options);
  } finally {
    progress.end();
  }
}

export function addCompile(program: Command): void {
  const command = program
    .command('compile').description('compile a model to a package')
    .argument('<model>', 'an ONNX file, a GGUF file, or a folder with safetensors files')
    .addOption(new Option('-t, --target <targets>', `where it runs: ${TARGETS.join(', ')}; several, separated by commas, share a page`).argParser(targetsNamed).makeOptionMandatory())
    .requiredOption('-o, --output <path>', 'the folder (or .html file) to write')
    .addOption(new Option('--emit <form>', 'package: only that; page: also the page that runs it (default)').argParser((form) => {
      if (LIBRARIES.includes(form)) throw nativeOnly(`--emit ${form}`);
      if (form !== 'package' && form !== 'page') throw new UsageError(`--emit: "${form}" is neither package nor page (see gossamer --help)`);
      return form;
    }))
    .option('--single-file', 'write one .html with everything inside')
    .option('--labels <file>', 'class names for the page, one a line');
  addFixedInputs(command);
  addCompileOptions(command);
  addRecordOptions(command, 'points of search spaces to take, a JSON object a line, as the native `gossamer tune` writes them');
  command
    .addOption(new Option('--dtype <type>', 'folders with safetensors files: matrices in 4 bits (q4, the default), 8 bits, 16 bits, or as they are').choices(DTYPES))
    .option('--json', 'machine-readable output');
  addNativeOnly(command, {'--weights <where>': '', '--threads <count>': '', '--side <kind>': '', '--records-exact': ''});
  command.action(run);
}
