// The bill of materials of a release, in CycloneDX's form (https://cyclonedx.org/docs/1.6/json/): what the files of a release contain of others.
import {execFileSync} from 'node:child_process';
import {existsSync, readFileSync, readdirSync} from 'node:fs';
import path from 'node:path';

/** Parts of the native programs and libraries, by Debian's packages. */
const NATIVE = [
  {name: 'RapidJSON', package: 'rapidjson-dev', licence: 'MIT'},
  {name: 'xxHash', package: 'libxxhash-dev', licence: 'BSD-2-Clause'},
  {name: 'LLVM', package: 'llvm-19-dev', licence: 'Apache-2.0 WITH LLVM-exception'},
  {name: 'CLI11', package: 'libcli11-dev', licence: 'BSD-3-Clause'},
  {name: 'stb_image', package: 'libstb-dev', licence: 'MIT'},
  {name: 'Boost', package: 'libboost1.81-dev', licence: 'BSL-1.0'},
];

function debianVersion(name) {
  try {
    return execFileSync('dpkg-query', ['-W', '-f', '${Version}', name], {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']}).trim();
  } catch {
    return undefined;
  }
}

/** npm packages that bundles contain, as their dist/licences.txt lists them, and those that packages depend on. */
function npmParts(root) {
  const parts = new Map();
  const add = (name, version, licence) => parts.set(`${name}@${version}`, {type: 'library', name, version, licenses: [{expression: licence}], purl: `pkg:npm/${name.replace('@', '%40')}@${version}`});
  const about = (folder, name) => {
    const file = [`web/${folder}/node_modules`, 'web/node_modules'].map((place) => path.join(root, place, name, 'package.json')).find((each) => existsSync(each));
    return JSON.parse(readFileSync(file, 'utf8'));
  };
  for (const folder of readdirSync(path.join(root, 'web'))) {
    const manifest = path.join(root, 'web', folder, 'package.json');
    if (!existsSync(manifest)) continue;
    const licences = path.join(root, 'web', folder, 'dist/licences.txt');
    const bundled = existsSync(licences) ? Array.from(readFileSync(licences, 'utf8').matchAll(/^(@?[a-z][\w./-]*) (\d+\.\d+\.\d+)$/gm), ([, name]) => name) : [];
    const {private: kept, dependencies = {}} = JSON.parse(readFileSync(manifest, 'utf8'));
    for (const name of [...bundled, ...(kept ? [] : Object.keys(dependencies).filter((each) => !each.startsWith('@gossamer/')))]) {
      const {version, license} = about(folder, name);
      add(name, version, license);
    }
  }
  return [...parts.values()];
}

/** `files`: [{name, sha256}] of the release. */
export function billOf(root, version, files) {
  const native = NATIVE.map(({name, package: from, licence}) => {
    const found = debianVersion(from);
    return found && {type: 'library', name, version: found, licenses: [{expression: licence}], purl: `pkg:deb/debian/${from}@${encodeURIComponent(found)}`};
  }).filter(Boolean);
  const nanopb = readdirSync(path.join(root, 'third_party/cache')).map((name) => /^nanopb-(.*)$/.exec(name)?.[1]).find(Boolean);
  return {
    bomFormat: 'CycloneDX', specVersion: '1.6', version: 1,
    metadata: {component: {type: 'application', name: 'gossamer', version, licenses: [{expression: 'Apache-2.0'}]}},
    components: [
      ...(nanopb ? [{type: 'library', name: 'nanopb', version: nanopb, licenses: [{expression: 'Zlib'}], purl: `pkg:generic/nanopb@${nanopb}`}] : []),
      ...native,
      ...npmParts(root),
      ...files.map(({name, sha256}) => ({type: 'file', name, hashes: [{alg: 'SHA-256', content: sha256}]})),
    ],
  };
}
