/** Compilations for one target, with what is said about them. */
import {compile, type CompileOptions} from '@gossamer/compiler';
import type {Target} from './compile_options.ts';
import {diagnosticOf, Failure} from './failure.ts';
import type {ModelFile} from './model_file.ts';
import type {Files} from './package_files.ts';
import type {Progress} from './progress.ts';
import {type RecordOptions, recordsFor} from './records.ts';

export async function compileFor(target: Target, {model, externalData}: ModelFile, path: string, options: Partial<CompileOptions>, records: RecordOptions, progress: Progress): Promise<Files> {
  try {
    return await compile(model, {
      ...options, target, externalData, records: await recordsFor(target, records), deviceClass: 'none',
      onProgress: ({step, fraction}) => progress.show(`${target}: ${step}`, fraction),
    });
  } catch (problem) {
    const {where, message, hint} = diagnosticOf(problem, path);
    throw new Failure(where, message, hint);
  }
}

interface Manifest {
  readonly kernels: readonly unknown[];
  readonly files: readonly {readonly name: string; readonly above?: boolean}[];
}

export const manifestOf = (files: Files): Manifest => JSON.parse(new TextDecoder().decode(files.get('manifest.json'))) as Manifest;
