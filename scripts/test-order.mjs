// The order of the test files: those that take long begin first, so that no worker is left with one at the end. The Next.js app
// is built meanwhile (see test-servers.mjs), and its tests come after them.
import { BaseSequencer } from 'vitest/node';

const ORDER = [
  /restate\/test\/contract/,
  /server\/test\/doors\//,
  /server\/test\/cli\/dev/,
  /started-once\/every-write/,
  /server\/test\/cli\/ending/,
  /server\/test\/inbox\//,
  /server\/test\/cli\//,
  /server\/test\/attacks\/blocking/,
  /react\/test\//,
  /countersign\/test\/stores\//,
  /countersign\/test\/docs\//,
  /server\/test\/mcp-gate\//,
  /restate\/test\//,
  /server\/test\/(coding-agents|fleet|fuzz|processes)\//,
  /countersign\/test\/(crash|frameworks|started-once)\//,
  /examples\/nextjs-chat\//,
  /server\/test\//,
  /countersign\/test\/(ai-sdk|authority|conversations|notices|take-over)\//,
  /examples\/alone/,
  /countersign\/test\//,
];

export default class TestOrder extends BaseSequencer {
  async sort(files) {
    const sorted = await super.sort(files);
    return sorted.toSorted((left, right) => rank(left.moduleId) - rank(right.moduleId));
  }
}

function rank(path) {
  const index = ORDER.findIndex((pattern) => pattern.test(path));
  return index === -1 ? ORDER.length : index;
}
