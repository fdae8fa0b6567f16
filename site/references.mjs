// References: of TypeScript by TypeDoc, of C and C++ the headers themselves, of Python the signatures and texts of its sources.
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {Application} from 'typedoc';
import {HEADERS, PACKAGES} from './contents.mjs';

const root = path.resolve(import.meta.dirname, '..');

/** A page for each package, of its declarations. */
export async function packagePages(write) {
  for (const [name, entry] of Object.entries(PACKAGES)) {
    const types = path.join(root, 'web', name, 'dist/types');
    const out = mkdtempSync(path.join(os.tmpdir(), 'gossamer-typedoc-'));
    try {
      const tsconfig = path.join(out, 'tsconfig.json');
      writeFileSync(tsconfig, JSON.stringify({
        compilerOptions: {target: 'ES2022', module: 'ESNext', moduleResolution: 'Bundler', lib: ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable'], types: [], skipLibCheck: true},
        files: [path.join(types, entry)],
      }));
      const app = await Application.bootstrapWithPlugins({
        entryPoints: [path.join(types, entry)], tsconfig, plugin: ['typedoc-plugin-markdown'], skipErrorChecking: true,
        outputFileStrategy: 'modules', readme: 'none', disableSources: true, hidePageHeader: true, hideBreadcrumbs: true, excludeInternal: true, logLevel: 'Error',
        entryFileName: 'index', useHTMLAnchors: true, parametersFormat: 'table', propertiesFormat: 'table', enumMembersFormat: 'table', expandObjects: false, sort: ['kind', 'alphabetical'],
        validation: false, out: path.join(out, 'pages'), cleanOutputDir: false, outputs: [{name: 'markdown', path: path.join(out, 'pages')}], name: `@gossamer/${name}`,
      });
      const project = await app.convert();
      if (!project) throw new Error(`TypeDoc cannot read the declarations of @gossamer/${name}`);
      // What a class inherits is described at its base.
      for (const reflection of Object.values(project.reflections)) if (reflection.inheritedFrom) project.removeReflection(reflection);
      await app.generateOutputs(project);
      const made = path.join(out, 'pages');
      const found = readdirSync(made, {recursive: true}).filter((each) => each.endsWith('.md')).map((each) => each.replaceAll(path.sep, '/'));
      // Namespaces have pages of their own: nn/functional is /api/tensor-nn-functional.
      const pageOf = (file) => [name, ...file.split('/').slice(1).map((part) => part.replace(/\.md$/, '')).filter((part) => !['namespaces', 'index'].includes(part))].join('-');
      const pages = new Map(found.map((file) => [file, file === 'index.md' ? name : pageOf(file.replace(/^@gossamer\//, ''))]));
      for (const [file, page] of pages) {
        const text = readFileSync(path.join(made, file), 'utf8').replace(/^# .*$/m, page === name ? `# API of @gossamer/${name}` : `# API of @gossamer/${name}: ${page.slice(name.length + 1).replaceAll('-', '.')}`)
          .replace(/\]\(([^)#\s]+\.md)(#[^)]*)?\)/g, (whole, to, anchor = '') => {
            const target = pages.get(path.posix.normalize(path.posix.join(path.posix.dirname(file), to)));
            return target ? `](/api/${target}${anchor})` : whole;
          });
        write(`api/${page}.md`, `---\noutline: [2, 3]\n---\n\n${text}\n`);
      }
    } finally {
      rmSync(out, {recursive: true, force: true});
    }
  }
}

export function cppPages(write) {
  for (const [name, about] of Object.entries(HEADERS)) {
    const text = readFileSync(path.join(root, 'include/gossamer', name), 'utf8');
    const language = name.endsWith('.h') ? 'c' : 'cpp';
    write(`api/${name.replace('.', '-')}.md`, `# ${name}\n\n${about}. This is the header as it is installed; its comments are the reference.\n\n\`\`\`\`${language}:line-numbers\n${text}\`\`\`\`\n`);
  }
}

export function pythonPage(write) {
  write('api/python.md', execFileSync('python3', [path.join(import.meta.dirname, 'python_reference.py'), path.join(root, 'python/gossamer')], {encoding: 'utf8'}));
}
