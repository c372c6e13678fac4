// The tsx examples in the documentation and in the README compile as strictly as the package.
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { entryTypes } from '../../countersign/test/entry-types.ts';

const root = resolve(import.meta.dirname, '../../..');

test('every tsx example compiles', () => {
  const pages = [...globSync('docs/**/*.md', { cwd: root }).sort(), 'packages/react/README.md'];
  const blocks = pages.flatMap(blocksOf);
  expect(blocks.length).toBeGreaterThan(3);
  mkdirSync(join(root, '.tmp'), { recursive: true });
  const folder = mkdtempSync(join(root, '.tmp/react-docs-'));
  try {
    for (const { file, text } of blocks) writeFileSync(join(folder, file), text);
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(CONFIG));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout, stderr } = spawnSync(process.execPath, [tsc, '--project', folder, '--pretty', 'false'], {
      encoding: 'utf8',
    });
    expect(`${stdout}${stderr}`).toBe('');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);

const CONFIG = {
  extends: join(root, 'packages/react/tsconfig.test.json'),
  compilerOptions: {
    rootDir: root,
    paths: {
      '@countersign/react': [entryTypes('react', 'index')],
      'countersign/ai-sdk': [entryTypes('countersign', 'gates/ai-sdk/index')],
      'countersign/ui': [entryTypes('countersign', 'ui/index')],
    },
  },
  include: ['*.tsx', join(root, 'packages/countersign/src/**/*.d.ts')],
  references: [],
};

/** Keeps each block on the line it has in its page, so that an error points to it. */
function blocksOf(page: string): readonly { readonly file: string; readonly text: string }[] {
  const lines = readFileSync(join(root, page), 'utf8').split('\n');
  return lines.flatMap((line, index) => {
    if (line !== '```tsx') return [];
    const end = lines.indexOf('```', index);
    const text = `${'\n'.repeat(index + 1)}${lines.slice(index + 1, end).join('\n')}\n`;
    return [{ file: `${page.replaceAll(/\W/g, '-')}-${index + 1}.tsx`, text }];
  });
}
