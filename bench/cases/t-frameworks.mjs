import assert from 'node:assert/strict';
import { openApproving } from '../lib/approving.mjs';
import { BESIDE, beside } from '../lib/beside.mjs';
import { DONE } from '../lib/plan.mjs';

const FRAMEWORKS = ['ai-sdk', 'langgraph', 'mastra', 'genkit', 'openai-agents'];

// The built workspace and the frameworks of the tests (`npm run build && npm run test-packages`): the gate and the framework must
// share one copy of it.
export default {
  ...BESIDE,
  id: 'T',
  title:
    'Tools of a framework behind our gate (SQLite in memory) beside the bare framework: an approved call, and one of a tool without a gate',
  variants: FRAMEWORKS.flatMap((framework) =>
    ['approved', 'ungated'].map((call) => ({ key: `${framework} ${call}`, framework, call })),
  ),
  async open(_adapter, { framework }) {
    const { open } = await import(`../gates/${framework}.mjs`);
    return { ours: open(openApproving()), bare: open() };
  },
  async round({ ours, bare }, { call }, env) {
    const tool = call === 'approved' ? 'transfer' : 'lookup';
    const checked = (side) => async () => {
      const before = side.counts[tool];
      assert.equal(await side[call](), DONE);
      assert.equal(side.counts[tool] - before, 1, 'each call must run exactly once');
    };
    return beside({ ours: checked(ours), bare: checked(bare) }, env);
  },
};
