// Projects created from the packed packages, with the other packages of this repository. `created.compat.ts` installs them all.
import { expect, test } from 'vitest';
import { admits, linkedProjects, testProjects } from './templates.ts';

testProjects(linkedProjects);

test('a range admits the versions that npm would install for it', () => {
  expect([admits('^1.2.0', '1.3.0'), admits('^1.2.3', '1.2.2'), admits('^0.2.0', '0.3.0')]).toEqual([
    true,
    false,
    false,
  ]);
  expect([admits('~1.4.18', '1.4.20'), admits('~1.4.18', '1.5.0'), admits('1.4.18', '1.4.18')]).toEqual([
    true,
    false,
    true,
  ]);
});
