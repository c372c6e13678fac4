// What a browser posts is said once and answered, also when answers were lost and processes died.
import { countersign, memoryStore, type Store } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { chatRoute } from 'countersign/ui';
import { expect, test } from 'vitest';
import { eventually } from '../eventually.ts';

const STUCK = new Promise<never>(() => undefined);

function open(store: Store, clock: () => number, dies = false) {
  const model = scriptedModel(({ messages }) => {
    if (dies) return STUCK;
    const said = messages.filter(({ role }) => role === 'user').flatMap(({ content }) => content);
    return `Heard: ${said.map((part) => ('text' in part ? part.text : '')).join(' ')}`;
  });
  const ai = countersign({ model, store, clock, retry: false });
  const route = chatRoute(ai.defineAgent({ name: 'clerk' }), { demo: true, client: 7 });
  const say = async (id: string, text: string) => {
    const messages = [{ id, role: 'user', parts: [{ type: 'text', text }] }];
    const body = JSON.stringify({ id: 'chat', trigger: 'submit-message', messages });
    const headers = { 'content-type': 'application/json' };
    const response = await route.POST(new Request('http://localhost/api/chat', { method: 'POST', headers, body }));
    return response.text();
  };
  return { runs: ai.runs, say };
}

test('whoever speaks in a chat whose process died drives it on', async () => {
  let now = 1_000_000;
  const clock = () => now;
  const store = memoryStore({ now: clock });
  const dead = open(store, clock, true);
  void dead.say('m1', 'a');
  await eventually(async () => expect((await dead.runs.get('chat')).status).toBe('running'));
  now += 120_000;
  expect(await open(store, clock).say('m2', 'b')).toContain('Heard: a b');
});

test('what is posted again after somebody else spoke is not said again', async () => {
  const clock = () => 1_000_000;
  const { runs, say } = open(memoryStore({ now: clock }), clock);
  await say('m1', 'a');
  await say('m2', 'b');
  await say('m1', 'a');
  const said = (await runs.get('chat')).messages.filter(({ role }) => role === 'user');
  expect(said.map(({ content }) => content)).toEqual([[{ text: 'a' }], [{ text: 'b' }]]);
});
