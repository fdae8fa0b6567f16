/** The class names of a text file, one a line. */
export const labelsOf = (text: string): string[] => text.replace(/^\ufeff/, '').trimEnd().split(/\r?\n/);
