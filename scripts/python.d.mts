// The types of python.mjs, for the tests that run Python programs.
export function pythonPath(): string;
