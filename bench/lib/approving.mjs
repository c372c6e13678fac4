// An instance whose requests are approved as soon as they are recorded, without a search for them.
import { countersign } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';

/** In a database in memory by default. `approve` approves the next request. `openedAt`: when the last one was recorded. */
export function openApproving({ file = ':memory:', ...options } = {}) {
  const store = sqliteStore(file);
  const opened = [];
  const waiting = [];
  const gate = { openedAt: 0, approve, close: () => store.close() };
  const append = async (one) => {
    const appended = await store.append(one);
    if (one.opened.length > 0) gate.openedAt = performance.now();
    for (const { id } of one.opened) {
      const take = waiting.shift();
      if (take) take(id);
      else opened.push(id);
    }
    return appended;
  };
  const recording = new Proxy(store, {
    get: (target, name) => {
      const value = name === 'append' ? append : target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  gate.ai = countersign({ ...options, store: recording });
  return gate;

  async function approve() {
    const id = opened.shift() ?? (await new Promise((resolve) => waiting.push(resolve)));
    await gate.ai.runs.decide(id, 'approve', { by: 'ann' });
  }
}
