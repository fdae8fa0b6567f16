export declare const COLOURS: Readonly<Record<string, readonly number[]>>;
export declare const STYLE: {readonly rows: readonly (readonly number[])[]; readonly added: readonly number[]};
export declare const pieces: readonly string[];
export declare const DIGITS: {readonly train10k: number; readonly t10k: number};
export declare function exampleData(root: string): string;
