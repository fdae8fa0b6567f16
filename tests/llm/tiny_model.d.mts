export declare const CONTEXT: number;
export declare const tokens: Readonly<Record<string, number>>;
export declare const tokenizer: object;
export declare const tokenizerConfig: {readonly bos_token: string; readonly chat_template: string};
export declare const config: object;
export declare const chatTemplate: string;
export declare function tinyModel(options?: {readonly context?: number}): Record<string, Uint8Array>;
export declare function genaiModel(): Record<string, Uint8Array>;
export declare function writeTinyModel(folder: string): void;
