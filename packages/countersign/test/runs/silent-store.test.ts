// A store that does not answer: an aborted caller returns at once, and a later answer does no harm.
import { countersign, memoryStore } from 'countersign';
import { internalsOf, type Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { chatRoute } from 'countersign/ui';
import { expect, onTestFinished, test } from 'vitest';
import { hear } from '../../src/loop/generate.ts';
import type { Say } from '../../src/runs/requests/deciding.ts';

/** A store that stops answering from the n-th request on. After `speakUp`, all open requests fail. */
function silentStore(kept: Store) {
  let left = Number.POSITIVE_INFINITY;
  const { promise: fellSilent, resolve } = Promise.withResolvers<void>();
  const silence = Promise.withResolvers<never>();
  const store: Store = new Proxy(kept, {
    get(_, name) {
      const value: unknown = Reflect.get(kept, name);
      if (typeof value !== 'function') return value;
      const answer = value.bind(kept);
      if (name === 'watch' || name === 'close') return answer;
      return (...args: readonly unknown[]) => {
        left -= 1;
        if (left > 0) return answer(...args);
        resolve();
        return silence.promise;
      };
    },
  });
  const speakUp = () => {
    left = Number.POSITIVE_INFINITY;
    silence.reject(new Error('The connection is gone.'));
  };
  silence.promise.catch(() => undefined);
  return {
    store,
    fellSilent,
    speakUp,
    silentFrom: (question: number) => {
      left = question;
    },
  };
}

const define = (ai: ReturnType<typeof countersign>) => {
  const pay = ai.defineTool({ name: 'pay', description: '', needsApproval: true }, () => 'paid');
  return ai.defineAgent({ name: 'clerk', tools: [pay] });
};

/** Opens a desk with a run `asked` that waits for a person, and a run `held` that another process drives forever. */
async function desk() {
  const kept = memoryStore();
  const mayReply = Promise.withResolvers<string>();
  const other = countersign({ model: scriptedModel(() => mayReply.promise), store: kept, retry: false });
  await define(other).start('Hi.', { runId: 'held' });
  const { store, ...silent } = silentStore(kept);
  const model = scriptedModel(({ messages }) =>
    messages.some(({ role }) => role === 'tool') ? 'Paid.' : { calls: [{ name: 'pay' }] },
  );
  const ai = countersign({ model, store, retry: false });
  const clerk = define(ai);
  const { interrupts } = await clerk.generate({ runId: 'asked', prompt: 'Pay.' });
  onTestFinished(async () => {
    silent.speakUp();
    mayReply.resolve('Hello.');
    await Promise.all([other.runs.settled(), ai.runs.settled()]);
  });
  return { ...silent, kept, ai, clerk, interrupts };
}

type Desk = Awaited<ReturnType<typeof desk>>;

const drained = async (events: AsyncIterable<unknown>) => {
  for await (const _ of events);
  return 'ended';
};
const says: Say = (run, kept) => hear(run, [{ role: 'user', content: [{ text: 'Well?' }] }], 'cancel', kept);

type Way = readonly [name: string, questions: number, (desk: Desk, signal: AbortSignal) => Promise<unknown>];

const ways: readonly Way[] = [
  ['wait for the end', 2, ({ ai }, signal) => ai.runs.wait('asked', { until: 'end', signal })],
  ['wait for a run that runs', 2, ({ ai }, signal) => ai.runs.wait('held', { signal })],
  ['speak in a run that runs', 3, ({ ai }, signal) => internalsOf(ai.runs).speak('held', says, { signal })],
  ['speak in a run that waits', 1, ({ ai }, signal) => internalsOf(ai.runs).speak('asked', says, { signal })],
  ['begin a chat', 2, ({ clerk }, abortSignal) => clerk.generate({ runId: 'new', prompt: 'Pay.', abortSignal })],
  ['say in a chat', 3, ({ clerk }, abortSignal) => clerk.generate({ runId: 'asked', prompt: 'Well?', abortSignal })],
  [
    'decide in a chat',
    3,
    ({ clerk, interrupts }, abortSignal) =>
      clerk.generate({ runId: 'asked', resume: { approve: interrupts }, abortSignal }),
  ],
];

test.for(ways)('an abort returns at once while the store is silent: %s', async ([, questions, begin]) => {
  for (let question = 1; question <= questions; question += 1) {
    const here = await desk();
    const left = new AbortController();
    here.silentFrom(question);
    const ended = expect(begin(here, left.signal)).rejects.toThrow('I have left.');
    await here.fellSilent;
    left.abort(new Error('I have left.'));
    await ended;
    here.speakUp();
  }
});

test.each([1, 2])('an abort ends a follower while the store is silent, at request %i', async (question) => {
  const ends = [
    ({ ai }: Desk, signal: AbortSignal) => ai.runs.events('asked', { signal }),
    ({ ai }: Desk, signal: AbortSignal) => ai.runs.follow('held', { signal }),
  ];
  for (const follow of ends) {
    const here = await desk();
    const left = new AbortController();
    here.silentFrom(question);
    const ended = drained(follow(here, left.signal));
    await here.fellSilent;
    left.abort();
    expect(await ended).toBe('ended');
    here.speakUp();
  }
});

test('a wait on a waiting run returns it even if the signal is already aborted', async () => {
  const { ai } = await desk();
  expect(await ai.runs.wait('asked', { signal: AbortSignal.abort() })).toMatchObject({ status: 'waiting' });
});

test('an aborted message is not sent once the store is back', async () => {
  const here = await desk();
  const left = new AbortController();
  here.silentFrom(1);
  const chat = here.clerk.generate({ runId: 'new', prompt: 'Pay.', abortSignal: left.signal });
  const ended = expect(chat).rejects.toThrow('I have left.');
  await here.fellSilent;
  left.abort(new Error('I have left.'));
  await ended;
  here.speakUp();
  await here.ai.runs.settled();
  expect(await here.kept.read('new')).toBeUndefined();
});

test.each([
  ['posts', 'POST', 'chat/asked', 3],
  ['resumes', 'GET', 'chat/asked/stream', 3],
  ['watches', 'GET', 'chat/asked/watch', 2],
])('a browser that %s and leaves does not wait for a silent store', async (_what, method, path, question) => {
  const here = await desk();
  const route = chatRoute(here.clerk, { authorize: () => ({ id: 'ann' }), mayRead: () => true, keepAliveMs: 10 });
  const said = { id: 'asked', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Well?' }] }] };
  const body = method === 'POST' ? JSON.stringify(said) : null;
  const request = new Request(`http://localhost/${path}`, {
    method,
    body,
    headers: { 'content-type': 'application/json' },
  });
  here.silentFrom(question);
  const response = await (method === 'POST' ? route.POST(request) : route.GET(request));
  const reader = response.body?.getReader();
  void reader?.read();
  await here.fellSilent;
  await reader?.cancel();
  here.speakUp();
});
