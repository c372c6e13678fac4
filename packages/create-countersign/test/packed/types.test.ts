// The packed types, as TypeScript 5.9 and 7 read them.
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { engineManifest } from './engine-files.ts';
import { run } from './install.ts';
import { folderInProject, projectFolder } from './project.ts';

const TOOLS = resolve(import.meta.dirname, '../../../../node_modules');
const COMPILERS: Readonly<Record<string, () => string>> = {
  '5.9': () => join(projectFolder(), 'node_modules/typescript-5/bin/tsc'),
  '7': () => join(TOOLS, 'typescript/bin/tsc'),
};
const TSCONFIG = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2024',
    lib: ['ES2024', 'DOM', 'DOM.AsyncIterable', 'DOM.Iterable', 'ESNext.Disposable'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
    typeRoots: [join(TOOLS, '@types')],
    types: ['node'],
  },
  include: ['*.mts'],
};

let folder: string;
beforeAll(() => {
  folder = folderInProject('types', 'types');
  const names = Object.keys(engineManifest().exports).map((name) => name.replace(/^\./, 'countersign'));
  const imports = names.map((name, index) => `import type * as e${index} from '${name}';\nexport type { e${index} };`);
  writeFileSync(join(folder, 'entries.mts'), imports.join('\n'));
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
});

test.each(Object.keys(COMPILERS))('TypeScript %s finds no mistake in the types, and infers with them', (version) => {
  const [compiler = ''] = [COMPILERS[version]?.()];
  expect(run('node', [compiler, '--version'], folder)).toContain(`Version ${version}`);
  // The types of other packages may have mistakes, and optional peers are not installed.
  const { peerDependencies } = engineManifest();
  const isPeer = (line: string) =>
    Object.keys(peerDependencies).some((name) => line.includes(`Cannot find module '${name}`));
  const told = mistakes(compiler).filter((line) => !isPeer(line));
  expect(told.filter((line) => /^[\w.-]+\.mts|\/countersign\/dist\//.test(line))).toEqual([]);
});

function mistakes(compiler: string): readonly string[] {
  try {
    return run('node', [compiler, '-p', '.', '--pretty', 'false'], folder).split('\n');
  } catch (error) {
    return (error as Error).message.split('\n');
  }
}
