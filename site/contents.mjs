// What the site is made of: pages of its own (site/pages), and documents of the repository, which stay where they are.

/** Documents by where the site has them. Those that no list below names are found by links and by the search. */
export const DOCUMENTS = {
  'docs/install.md': 'guides/install.md',
  'docs/commands.md': 'guides/command-line.md',
  'docs/inspector.md': 'guides/inspector.md',
  'docs/runtime/device_tensors.md': 'guides/device-tensors.md',
  'docs/runtime/generate.md': 'guides/generate.md',
  'docs/runtime/measure.md': 'guides/measure.md',
  'docs/runtime/source_files.md': 'guides/source-files.md',
  'web/runtime/README.md': 'packages/runtime.md',
  'web/compiler/README.md': 'packages/compiler.md',
  'web/tensor/README.md': 'packages/tensor.md',
  'web/ort/README.md': 'packages/ort.md',
  'web/llm/README.md': 'packages/llm.md',
  'web/cli/README.md': 'packages/cli.md',
  'web/vite/README.md': 'packages/vite.md',
  'web/webpack/README.md': 'packages/webpack.md',
  'web/rpc/README.md': 'packages/rpc.md',
  'web/examples/README.md': 'guides/examples.md',
  'python/README.md': 'packages/python.md',
  'serve/README.md': 'guides/serve.md',
  'docs/operators.md': 'reference/operators.md',
  'docs/conformance.md': 'reference/conformance.md',
  'docs/pytorch.md': 'reference/pytorch.md',
  'docs/architecture.md': 'internals/architecture.md',
  'docs/dependencies.md': 'internals/dependencies.md',
  'CONTRIBUTING.md': 'internals/contributing.md',
  'CHANGELOG.md': 'changelog.md',
  'SECURITY.md': 'security.md',
  'docs/versions.md': 'versions.md',
  'bench/README.md': 'internals/benchmarks.md',
  'docs/decisions/README.md': 'decisions/index.md',
};

/** Folders whose documents are all pages. */
export const FOLDERS = {'docs/specs': 'specs', 'docs/decisions': 'decisions', 'bench/results': 'results'};

/** What else of the repository has a page, by links: [file or folder, page]. */
export const PLACES = [['README.md', 'index.md'], ['docs/specs', 'specs/index.md'], ['bench/results', 'results/index.md'], ['web/examples', 'gallery.md']];

/** Packages whose declarations are a reference. `from`: below web/NAME/dist/types. */
export const PACKAGES = {
  runtime: 'runtime/src/index.d.ts',
  compiler: 'compiler/src/index.d.ts',
  tensor: 'tensor/src/index.d.ts',
  ort: 'ort/src/index.d.ts',
  llm: 'llm/src/index.d.ts',
  vite: 'vite/src/index.d.ts',
  webpack: 'webpack/src/index.d.ts',
  rpc: 'rpc/src/index.d.ts',
};

/** Public headers, each a page. */
export const HEADERS = {
  'gossamer.hpp': 'Load and run packages from C++23',
  'compile.hpp': 'Compile models from C++23',
  'generate.hpp': 'Generate text from C++23',
  'profile.hpp': 'Measure kernels from C++23',
  'bytes.hpp': 'Bytes of tensors in C++23',
  'gossamer.h': 'Load and run packages from C',
};

const list = (text, items, open = false) => ({text, collapsed: !open, items: items.map(([name, link]) => ({text: name, link}))});

/** `specs` and `decisions`: [title, link] of each. */
export const sidebar = ({specs, decisions}) => [
  list('Start', [['Quick start', '/start'], ['Gallery', '/gallery'], ['Browsers and devices', '/support'], ['Troubleshooting', '/troubleshooting']], true),
  list('Tutorials', [
    ['Classify an image', '/tutorials/classify'], ['Chat in the page', '/tutorials/chat'], ['Train in the page', '/tutorials/train'],
    ['Deploy without JavaScript', '/tutorials/without-javascript'], ['Write an operator', '/tutorials/operator'],
  ], true),
  list('How to', [
    ['Make models faster', '/how-to/faster'], ['Make downloads smaller', '/how-to/smaller'], ['Ship a page that works offline', '/how-to/offline'],
    ['Import models in Vite and webpack', '/packages/vite'], ['Keep tensors on the device', '/guides/device-tensors'],
    ['Look into a model', '/guides/inspector'], ['Measure, tune and verify', '/guides/measure'], ['Generate text', '/guides/generate'], ['Serve models over HTTP', '/guides/serve'], ['Install everything', '/guides/install'],
  ], true),
  list('Migrate from', [
    ['onnxruntime-web', '/migrate/onnxruntime-web'], ['Transformers.js', '/migrate/transformersjs'], ['TensorFlow.js', '/migrate/tensorflowjs'], ['TVM and MLC', '/migrate/tvm'],
  ], true),
  list('Packages', ['cli', 'runtime', 'compiler', 'tensor', 'ort', 'llm', 'vite', 'webpack', 'rpc'].map((name) => [`@gossamer/${name}`, `/packages/${name}`]).concat([['Python', '/packages/python']])),
  list('Reference', [
    ['Command line', '/guides/command-line'], ['Operators', '/reference/operators'], ['Conformance', '/reference/conformance'], ["PyTorch's functions", '/reference/pytorch'],
    ...Object.keys(PACKAGES).map((name) => [`API of @gossamer/${name}`, `/api/${name}`]),
    ['API of Python', '/api/python'],
    ...Object.keys(HEADERS).map((name) => [name, `/api/${name.replace('.', '-')}`]),
  ]),
  list('Internals', [['Architecture', '/internals/architecture'], ['Contributing', '/internals/contributing'], ['Dependencies', '/internals/dependencies'], ['Benchmarks', '/benchmarks'], ['How benchmarks work', '/internals/benchmarks'], ['Versions', '/versions'], ['Security', '/security'], ['Changelog', '/changelog']]),
  list('Specifications', [['All specifications', '/specs/'], ...specs]),
  list('Decisions', [['All decisions', '/decisions/'], ...decisions]),
];
