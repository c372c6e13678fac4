// Files that scripts write: `--write` renews one, otherwise a difference is an error that names the command to run.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';

/** Writes `text` to `path` under `--write`; otherwise compares, and sets a failing exit code on any difference. */
export function writeOrCompare(path, text, command) {
  const name = relative(process.cwd(), path);
  if (process.argv.includes('--write')) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    console.log(`wrote ${name}`);
    return;
  }
  const kept = existsSync(path) ? readFileSync(path, 'utf8') : '';
  if (kept === text) {
    console.log(`${name} is up to date`);
    return;
  }
  const difference = firstDifference(kept.split('\n'), text.split('\n'));
  console.error(`${name} is out of date. Look at what changed, then run \`${command}\`.\n${difference}`);
  process.exitCode = 1;
}

function firstDifference(kept, wanted) {
  const index = wanted.findIndex((line, at) => line !== kept[at]);
  const line = index === -1 ? wanted.length : index;
  return `First difference, line ${line + 1}:\n  - ${kept[line] ?? '(end of file)'}\n  + ${wanted[line] ?? '(end of file)'}`;
}
