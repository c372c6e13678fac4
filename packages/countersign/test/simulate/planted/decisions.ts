// Faults of decisions: what was decided, on what, and whether it was recorded.
import type { Planted } from './planted.ts';

const BOUND = 'a decision is bound to exactly what the person saw';
const RECORDED = 'an acknowledged decision is recorded, and never contradicted';

export const DECISIONS: readonly Planted[] = [
  {
    name: 'a digest that is not compared',
    rule: BOUND,
    file: 'runs/requests/settled.ts',
    find: 'if (digest === undefined || digest === digestOf(requestId, { part } as unknown as Json)) return;',
    replace: 'return;',
    within: 20,
  },
  {
    name: 'a decision is acknowledged before it is recorded',
    rule: RECORDED,
    file: 'runs/requests/recording.ts',
    find: 'const refusal = await refusalOf(begins ? drives.begin(open) : journal.recorded());',
    replace:
      'const refusal = undefined; void refusalOf(begins ? drives.begin(open) : journal.recorded()).catch(() => undefined);',
    within: 20,
  },
  {
    name: 'a decision that came second is acknowledged',
    rule: RECORDED,
    file: 'runs/requests/deciding.ts',
    find: '  if (stale) return stale;\n  const waiting',
    replace: '  const waiting',
    within: 20,
  },
  {
    name: 'a contradiction is acknowledged',
    rule: RECORDED,
    file: 'runs/requests/settled.ts',
    find: 'if (recorded?.decision !== undefined && sameJson(recorded.decision, saidIn(decision)))',
    replace: 'if (recorded?.decision !== undefined)',
    within: 20,
  },
  {
    name: 'an edit keeps the votes before it',
    rule: BOUND,
    file: 'core/authority/tally.ts',
    find: 'return edit < 0 ? votes : votes.slice(edit);',
    replace: 'return edit < 0 ? votes : votes;',
    within: 600,
    isOpen: true,
  },
  {
    name: 'a call runs unasked',
    rule: 'a gated call runs only after a decision',
    file: 'loop/call/gate.ts',
    find: 'return isGated && isUndecided(call);',
    replace: 'return false && isGated && isUndecided(call);',
    within: 20,
  },
  {
    name: 'a rejected call runs',
    rule: 'a rejected call never runs',
    file: 'loop/resume.ts',
    find: 'if (result) run.record(event({',
    replace: "if (result && decision.type !== 'reject') run.record(event({",
    within: 20,
  },
  {
    name: 'a deadline comes early',
    rule: 'a deadline decides only after it has passed',
    file: 'runs/requests/waiting/expiry.ts',
    find: 'return expiresAt !== undefined && expiresAt <= now;',
    replace: 'return expiresAt !== undefined && expiresAt - 5_000 <= now;',
    within: 20,
  },
  {
    name: 'the clock of the process decides deadlines',
    rule: 'a deadline decides only after it has passed',
    file: 'open-store.ts',
    find: '...{ store, agents, contextFor, leaseMs, graceMs, clock, sleep },',
    replace:
      '...{ store: { ...store, now: async () => clock() }, agents, contextFor, leaseMs, graceMs, clock, sleep },',
    within: 20,
  },
  {
    name: 'nobody looks at deadlines',
    rule: 'every run ends',
    file: 'stores/rules/due.ts',
    find: "if (status === 'waiting' || status === 'failed') return wakeAt;",
    replace: "if (status === 'waiting' || status === 'failed') return null;",
    within: 20,
  },
  {
    name: 'the start of a gate is granted twice',
    rule: 'a call has at most one effect',
    file: 'runs/gates/call-gate.ts',
    find: "if (status.at !== 'approved' || status.host?.start !== start) return undefined;",
    replace: "if (status.at !== 'approved' || !status.host) return undefined;",
    within: 300,
    isOpen: true,
  },
  {
    name: 'a program outside gets less time than it was told',
    rule: 'a call has at most one effect',
    file: 'runs/driving/run-driver.ts',
    find: 'if (until !== undefined && until <= driver.clock())',
    replace: 'if (until !== undefined && until - 29_000 <= driver.clock())',
    within: 600,
    isOpen: true,
  },
];
