// Notes of a release: its part of the changelog, or what has no release yet.

/** Markdown. Throws where the changelog has neither. */
export function notesOf(changelog, version) {
  const parts = changelog.split(/^(?=## \[)/m);
  const part = parts.find((each) => each.startsWith(`## [${version}]`)) ?? parts.find((each) => each.startsWith('## [Unreleased]'));
  if (!part) throw new Error(`CHANGELOG.md has neither [${version}] nor [Unreleased]`);
  // Links at the end of the file are of no part.
  const text = part.replace(/^## \[[^\]]*\].*\n/, '').replace(/^\[[^\]]+\]: .*\n?/gm, '').trim();
  return `# Gossamer ${version}\n\n${text}\n`;
}
