/**
 * Imports ONNX models in applications of webpack 5: they are compiled when the application is built.
 *
 *     // webpack.config.mjs
 *     export default {module: {rules: [{test: /\.onnx$/, use: '@gossamer/webpack'}]}};
 *     // main.js
 *     import digits from './digits.onnx';
 *     const model = await digits.load();
 */
import {join} from 'node:path';
import {HEADERS, imported, type ModelOptions} from '../../vite/src/options.ts';

export type {CompileSettings, Target} from '../../vite/src/compiled.ts';
export type {CompiledModel, TypedModel} from '../../vite/src/model.ts';

export interface GossamerOptions extends ModelOptions {
  /** The folder of the built application that packages go to. Default: 'models'. */
  readonly folder?: string | undefined;
}

/** What of webpack's interface the loader uses. */
export interface LoaderContext {
  readonly resourcePath: string;
  readonly rootContext: string;
  getOptions(): GossamerOptions;
  async(): (problem: Error | null, code?: string) => void;
  emitFile(name: string, content: Buffer): void;
}

/** For `devServer.headers` and for your own server: without these, pages have one thread. */
export const headers = HEADERS;

/** The module of a model. Where the application is served from is known when it runs. */
const moduleOf = (folder: string): string => `import {load as open} from '@gossamer/runtime';
const {href: url} = new URL(__webpack_public_path__ + ${JSON.stringify(`${folder}/`)}, self.location.href);
export default {url, load: (options) => open(url, options)};
`;

/** Models are bytes. */
export const raw = true;

/** The loader. Building fails with the compiler's message for a model that cannot be compiled. */
export default function gossamer(this: LoaderContext, model: Buffer): void {
  const done = this.async();
  const {folder = 'models', ...options} = this.getOptions();
  const make = async (): Promise<string> => {
    const made = await imported(model, this.resourcePath, options, join(this.rootContext, 'node_modules/.cache/gossamer'), '@gossamer/webpack');
    for (const [name, bytes] of made.files) this.emitFile(`${folder}/${made.name}/${name}`, Buffer.from(bytes));
    return moduleOf(`${folder}/${made.name}`);
  };
  make().then((code) => done(null, code), (problem: unknown) => done(problem as Error));
}
