export declare function shared(root: string, ...parts: string[]): string;
export declare function testdata(root: string, ...parts: string[]): string;
