// A call that asks again: the permissions and answers of its first question do not apply to the next one.
import { countersign, memoryStore, type PolicyFor, z } from 'countersign';
import type { Store } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import { APPROVAL, type ChatRouteOptions, chatRoute } from 'countersign/ui';
import { expect, test } from 'vitest';
import { changedStore } from '../changed-store.ts';

/** A chat with a payment that waits for approval; once approved, its body asks the boss. */
async function asked(
  route: Omit<ChatRouteOptions, 'authorize'> = {},
  store: Store = memoryStore(),
  policyFor: PolicyFor = () => undefined,
) {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : { calls: [{ name: 'pay', ref: 'c1', input: { amount: 900 } }] },
  );
  const ai = countersign({ store, model, retry: false, policyFor });
  const paid: number[] = [];
  const pay = ai.defineTool(
    { name: 'pay', description: 'Pays.', inputSchema: z.object({ amount: z.number() }), needsApproval: true },
    async ({ amount }, { resumed, interrupt }) => {
      if (resumed === undefined) return interrupt({ message: 'For the boss.' });
      paid.push(amount);
      return 'paid';
    },
  );
  const { GET, POST } = chatRoute(ai.defineAgent({ name: 'teller', tools: [pay] }), {
    ...route,
    authorize: () => ({ id: 'ada' }),
  });
  const post = (body: object) =>
    POST(
      new Request('http://localhost/api/chat', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ id: 'chat-1', ...body }),
      }),
    );
  await (await post({ messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Pay' }] }] })).text();
  const load = async () => {
    const chat = await GET(new Request('http://localhost/api/chat/chat-1'));
    return ((await chat.json()) as { messages: any[] }).messages;
  };
  const [first = ''] = (await ai.runs.get('chat-1')).pending;
  return { runs: ai.runs, paid, post, load, first, second: `${first}/2` };
}

/** Anyone may approve the payment, and only the boss answers the question of its body. */
const bossAnswers: PolicyFor = ({ kind }) => (kind === 'approval' ? undefined : { deciders: { people: ['boss'] } });

test('only a permitted person decides a question that appears while a post is handled', async () => {
  const real = memoryStore();
  const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let holds = false;
  const store = changedStore(real, {
    read: async (...given) => {
      const loaded = await real.read(...given);
      if (holds) {
        holds = false;
        held.resolve();
        await release.promise;
      }
      return loaded;
    },
  });
  const { runs, paid, post, first, second } = await asked({}, store, bossAnswers);
  holds = true;
  const answering = post({ decisions: [{ requestId: second, decision: { type: 'approve' } }] });
  // The chat was loaded, and the question appears now.
  await held.promise;
  await runs.decide(first, 'approve', { by: 'boss' });
  expect((await runs.wait('chat-1')).pending).toEqual([second]);
  release.resolve();
  expect((await answering).status).toBe(403);
  expect((await runs.wait('chat-1')).pending).toEqual([second]);
  expect(paid).toEqual([]);
});

test.each([{ client: 5 }, { approvals: 'output' }] as const)(
  'an approval that is posted again does not approve the next question of the call (%j)',
  async (route) => {
    const { runs, paid, post, load, second } = await asked(route);
    const confirm = async () => {
      const [said, last] = await load();
      const parts = last.parts.map((part: any) =>
        part.type === 'tool-pay' ? { ...part, state: 'output-available', output: APPROVAL.YES } : part,
      );
      return { messages: [said, { ...last, parts }] };
    };
    const confirmed = await confirm();
    for (let times = 0; times < 2; times += 1) {
      const answer = await (await post(confirmed)).text();
      expect((await runs.wait('chat-1')).pending).toEqual([second]);
      // The page learns that its answer does not apply to the new question.
      expect(answer).toContain('"tool-input-available"');
    }
    expect(paid).toEqual([]);
    await (await post(await confirm())).text();
    expect((await runs.wait('chat-1')).status).toBe('done');
    expect(paid).toEqual([900]);
  },
);

test('a page that posts before it has seen the next question receives that question first', async () => {
  const { runs, post, load, first } = await asked({ client: 5 });
  const [said, last] = await load();
  await runs.decide(first, 'approve', { by: 'boss' });
  await runs.wait('chat-1');
  // The page has not answered when it posts. The stream resets any answer it gives before it sees the next question.
  const told = await (await post({ messages: [said, last] })).text();
  expect(told.indexOf('"tool-input-available"')).toBeGreaterThan(0);
  expect(told.indexOf('"tool-input-available"')).toBeLessThan(told.indexOf('For the boss.'));
});

test('an approval card does not accept the answer to a question that was not asked yet', async () => {
  const { runs, paid, post, first } = await asked({}, memoryStore(), bossAnswers);
  for (const decision of [
    { type: 'restart', resumed: { boss: true } },
    { type: 'respond', output: 'paid' },
  ]) {
    const answer = await (await post({ decisions: [{ requestId: first, decision }] })).text();
    expect(answer).toContain(`pay accepts approve, edit, revise, reject, not ${decision.type}.`);
  }
  expect((await runs.wait('chat-1')).pending).toEqual([first]);
  expect(paid).toEqual([]);
  await (await post({ decisions: [{ requestId: first, decision: { type: 'cancel' } }] })).text();
  expect((await runs.wait('chat-1')).status).toBe('done');
});
