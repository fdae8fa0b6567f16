/** gossamer inspect: what a model is, and what each target makes of it. The compiler prints it. */
import {mkdir, readFile, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import type {Command} from 'commander';
import {Option} from 'commander';
import {inspect} from '../../compiler/src/inspect.ts';
import {isProfile, type Profile, type View} from '../../inspector/src/document.ts';
import {withView} from '../../inspector/src/saved.ts';
import {addCompileOptions, compileOptionsOf, type Target, TARGETS, targetsNamed, whole} from './compile_options.ts';
import {diagnosticOf, Failure, UsageError} from './failure.ts';
import {addFixedInputs, type FixedInputs, readFixed} from './fixed_inputs.ts';
import {openModel} from './model_file.ts';
import {Progress} from './progress.ts';
import {addRecordOptions, type RecordOptions, recordsFor} from './records.ts';

interface Options extends FixedInputs, RecordOptions, Readonly<Record<string, unknown>> {
  readonly target?: readonly Target[];
  readonly stages?: boolean;
  readonly kernels?: boolean;
  readonly space?: boolean;
  readonly points: number;
  readonly dump?: string;
  readonly html?: string;
  readonly profile: readonly string[];
  readonly json?: boolean;
}

async function readProfile(file: string): Promise<Profile> {
  const text = await readFile(file, 'utf8').catch((problem: unknown) => {
    throw new Failure(file, `cannot be read: ${problem instanceof Error ? problem.message : String(problem)}`);
  });
  let profile: unknown;
  try {
    profile = JSON.parse(text);
  } catch {
    // It is no profile.
  }
  if (isProfile(profile)) return profile;
  throw new Failure(file, 'is not a profile', 'write it by `gossamer bench MODEL --target T --profile --json`');
}

async function run(path: string, options: Options): Promise<void> {
  const {target: targets = TARGETS, stages, kernels, space, points, dump, html, json} = options;
  if (options.profile.length > 0 && html === undefined) throw new UsageError('--profile is for --html');
  const progress = new Progress(json === true);
  try {
    const given = {...compileOptionsOf(options), ...(await readFixed(options))};
    const records = Object.fromEntries(await Promise.all(targets.map(async (target) => [target, (await recordsFor(target, options)) ?? ''] as const)));
    const {model, externalData} = await openModel(path);
    const profiles = await Promise.all(options.profile.map(readProfile));
    const asked = html === undefined ? {stages, kernels, space, points, json} : {document: true, space: true, points: space ? points : 16};
    const files = await inspect(model, given, externalData, {targets, records, ...asked, dump: dump !== undefined}, {
      wasm: new URL(import.meta.resolve('@gossamer/compiler/tuner.wasm')), onProgress: (step, fraction) => progress.show(step, fraction),
    }).catch((problem: unknown) => {
      const {where, message, hint} = diagnosticOf(problem, path);
      throw new Failure(where, message, hint);
    });
    progress.end();
    for (const [name, bytes] of files) {
      if (name === 'text' || dump === undefined) continue;
      await mkdir(dirname(join(dump, name)), {recursive: true});
      await writeFile(join(dump, name), bytes);
    }
    const text = files.get('text') ?? new Uint8Array();
    if (html === undefined) {
      process.stdout.write(text);
      return;
    }
    const page = await readFile(new URL('inspector.html', import.meta.url), 'utf8');
    await writeFile(html, withView(page, {...(JSON.parse(new TextDecoder().decode(text)) as View), profiles}));
  } finally {
    progress.end();
  }
}

export function addInspect(program: Command): void {
  const command = program
    .command('inspect').description("show a model's graph and what each target makes of it")
    .argument('<model>', 'an ONNX file, a GGUF file, or a folder with safetensors files')
    .addOption(new Option('-t, --target <targets>', `only these targets (${TARGETS.join(', ')})`).argParser(targetsNamed));
  addFixedInputs(command);
  addCompileOptions(command);
  command
    .option('--stages', 'print the stages after fusion')
    .option('--kernels', "print each kernel's schedule and origin")
    .option('--space', 'print points of the space that tuning searches for each kernel, for compile --records')
    .option('--points <count>', 'with --space: at most so many points of a kernel', whole('--points', 1, 1_000_000), 64);
  addRecordOptions(command, 'as compile --records; says which kernels take a recorded point, and whose');
  command
    .option('--dump <folder>', 'write stages, loop IR and shaders below this folder')
    .option('--html <file>', 'write a page that shows the graph, kernels, costs and memory')
    .option('--profile <file>', 'with --html: measured times, as bench --profile --json prints them', (file: string, before: readonly string[]) => [...before, file], [] as readonly string[])
    .option('--json', 'machine-readable output')
    .action(run);
}
