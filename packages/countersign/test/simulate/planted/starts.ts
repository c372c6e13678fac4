// Faults of the start, the doubt and the result of a call.
import type { Planted } from './planted.ts';

const ONCE = 'a call has at most one effect';
const TRUTH = 'what cannot be known after a crash is asked, never guessed';

export const STARTS: readonly Planted[] = [
  {
    name: 'a start that is not awaited',
    rule: ONCE,
    file: 'loop/stored-run.ts',
    find: 'if (!(await this.#isDurable()) || this.#isFrozen(start, before, starts)) return false;',
    replace: 'void this.#isDurable();',
    within: 20,
  },
  {
    name: 'a start of a sub-agent that is not awaited',
    rule: ONCE,
    file: 'loop/stored-run.ts',
    find: 'if (!((await this.#isDurable()) && this.#isRunning(call) && this.#mayAct())) throw',
    replace: 'if (!this.#isRunning(call)) throw',
    within: 20,
  },
  {
    name: 'a started call runs again after a crash',
    rule: TRUTH,
    file: 'core/run/next.ts',
    find: "if (call.phase.at === 'started' && call.phase.host === undefined && !call.frozen) doubtful.push(call);",
    replace: "if (call.phase.at === 'started' && call.phase.host === undefined && !call.frozen) ready.push(call);",
    within: 20,
  },
  {
    name: 'every call in doubt is harmless',
    rule: TRUTH,
    file: 'loop/call/doubt.ts',
    find: "if (idempotent || phase.at !== 'started') return idempotent;",
    replace: "if (idempotent || phase.at === 'started') return true;",
    within: 20,
  },
  {
    name: 'a commit point is forgotten',
    rule: TRUTH,
    file: 'loop/call/doubt.ts',
    find: "commits && phase.progress === 'uncommitted'",
    replace: 'commits',
    within: 20,
  },
  {
    name: 'a commit point that is not awaited',
    rule: TRUTH,
    file: 'loop/call/body-context.ts',
    find: '  run.record(noted);\n  await run.checkHold(call);',
    replace: '  run.record(noted);',
    within: 100,
  },
  {
    name: 'a step runs again',
    rule: 'a step whose result is recorded does not run again',
    file: 'loop/call/body-context.ts',
    find: 'if (done !== undefined) return copyOf(done) as never;',
    replace: '',
    within: 20,
  },
  {
    name: 'a look-up that finds nothing is believed at once',
    rule: TRUTH,
    file: 'loop/call/doubt.ts',
    find: "if (found === 'nothing' && isSettled) {",
    replace: "if (found === 'nothing') {",
    within: 400,
    isOpen: true,
  },
  {
    name: 'the time to settle has always passed',
    rule: TRUTH,
    file: 'loop/call/doubt.ts',
    find: 'return phase.since !== undefined && clock() - phase.since > settlesWithin;',
    replace: 'return phase.since !== undefined;',
    within: 400,
    isOpen: true,
  },
  {
    name: 'a tool that throws has done nothing',
    rule: 'the model is told the truth',
    file: 'loop/call/result.ts',
    find: ', line, mayHaveActed: true };',
    replace: ', line };',
    within: 20,
  },
];
