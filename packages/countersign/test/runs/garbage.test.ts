// What a run leaves behind: garbage that is collected at once, not with everything else much later.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

test('runs that have ended are freed without a full collection', { timeout: 60_000 }, () => {
  const flags = ['--no-warnings', '--expose-gc'];
  const said = execFileSync(process.execPath, [...flags, `${import.meta.dirname}/garbage-child.ts`], {
    encoding: 'utf8',
  });
  expect(JSON.parse(said).bytesPerRun).toBeLessThan(2_500);
});
