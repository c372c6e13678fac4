// Writes the recipe's files (recipe.md) to a folder, as an app would have them.
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../../../..');

/** Writes the app and returns its folder; the caller removes it. */
export function writeRecipe(): string {
  mkdirSync(join(root, '.tmp'), { recursive: true });
  const folder = mkdtempSync(join(root, '.tmp/recipe-'));
  for (const [file, text] of recipeFiles()) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

/** Each file of the recipe, by its path in the app. */
export function recipeFiles(): ReadonlyMap<string, string> {
  const page = readFileSync(join(import.meta.dirname, 'recipe.md'), 'utf8');
  const blocks = page.matchAll(/^`([\w./]+)`\n\n```tsx?\n([\s\S]*?)^```$/gm);
  return new Map([...blocks].map(([, file = '', text = '']) => [file, text]));
}
