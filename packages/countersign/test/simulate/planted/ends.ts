// Faults after which something never happens: a run does not go on, or nobody is told.
import type { Planted } from './planted.ts';

const ENDS_RULE = 'every run ends once faults stop';
const TOLD = 'every notice is delivered';

export const ENDS: readonly Planted[] = [
  {
    name: 'nobody takes up a run that was left',
    rule: ENDS_RULE,
    file: 'stores/rules/due.ts',
    find: "return before?.status === 'running' ? before.dueAt : now;",
    replace: 'return null;',
    within: 20,
  },
  {
    name: 'a run that was tried once is never tried again',
    rule: ENDS_RULE,
    file: 'runs/driving/worker.ts',
    find: 'if (now - at > this.#options.pollMs) this.#seen.delete(runId);',
    replace: 'if (now < at) this.#seen.delete(runId);',
    within: 20,
  },
  {
    name: 'a decision at the moment of leaving is overlooked',
    rule: ENDS_RULE,
    file: 'runs/journal/appending.ts',
    find: '          if (leaves) return false;',
    replace: '          if (leaves) return true;',
    within: 600,
    isOpen: true,
  },
  {
    name: 'a worker stops after an error',
    rule: ENDS_RULE,
    file: 'runs/driving/worker.ts',
    find: "for (const looked of await Promise.allSettled(looking)) if (looked.status === 'rejected') onError(looked.reason);",
    replace: 'await Promise.all(looking);',
    within: 20,
  },
  {
    name: 'a request stays open in a run that has ended',
    rule: ENDS_RULE,
    file: 'runs/requests/projection.ts',
    find: '      .filter(([key]) => !cards.has(key))',
    replace: '      .filter(([key]) => !cards.has(key) && !after.ended)',
    within: 20,
  },
  {
    name: 'a notice counts as told before it is noted',
    rule: TOLD,
    file: 'runs/notices/fan-out.ts',
    find: 'await this.#hint(channels, request,',
    replace: 'await store.told(request.id, news);\n          await this.#hint(channels, request,',
    within: 50,
    // The last schedules that found it were drawn before people could freeze, recall and undo.
    isOpen: true,
  },
  {
    name: 'a notice that was taken never comes again',
    rule: TOLD,
    file: 'stores/memory/untold.ts',
    find: '[...this.#taken].filter(([, { tellAt }]) => tellAt <= now);',
    replace: '[];',
    within: 200,
  },
  {
    name: 'news that came meanwhile count as told',
    rule: TOLD,
    file: 'stores/memory/untold.ts',
    find: 'if (this.#news.get(id) === news) this.#clear(id);',
    replace: 'if (this.#news.has(id) && news > 0) this.#clear(id);',
    within: 300,
    isOpen: true,
  },
  {
    name: 'a delivery that failed counts as done',
    rule: TOLD,
    file: 'runs/notices/delivering.ts',
    find: 'return this.#fail([{ ...current, notice }], error, performance.now() - started);',
    replace: 'receipt = undefined;',
    within: 20,
  },
];
