// The order of the test files: those that take long begin first, so that no worker is left with one at the end. The Next.js app
// is built meanwhile (see test-servers.mjs), and its tests come after them.
import { BaseSequencer } from 'vitest/node';

const ORDER = [
  'packages/restate/test/',
  'packages/server/test/doors/',
  'packages/server/test/inbox/',
  'packages/server/test/cli/',
  'packages/react/test/',
  'packages/countersign/test/started-once/',
  'packages/countersign/test/stores/',
  'packages/countersign/test/crash/',
  'packages/countersign/test/docs/',
  'examples/nextjs-chat/',
];

export default class TestOrder extends BaseSequencer {
  async sort(files) {
    const sorted = await super.sort(files);
    return sorted.toSorted((left, right) => rank(left.moduleId) - rank(right.moduleId));
  }
}

function rank(path) {
  const index = ORDER.findIndex((folder) => path.includes(folder));
  return index === -1 ? ORDER.length : index;
}
