import type { Plugin } from 'vitest/config';

export declare function hasTestPackages(): boolean;
export declare function installTestPackages(): Promise<void>;
export declare function explainMissing(): Plugin;
