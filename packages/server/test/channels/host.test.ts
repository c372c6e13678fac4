// A channel of a server: what arrives at its address, and decisions that it passes on.
import { tool, z } from 'countersign';
import { expect, test } from 'vitest';
import type { ServerChannel } from '../../src/channels/server-channel.ts';
import { startServer } from '../server.ts';

/** Decides as the person whom the body names. A real channel would check who sent it. */
const bot: ServerChannel = {
  name: 'bot',
  async deliver() {},
  async receive(request, host) {
    const { id, person: named } = (await request.json()) as { readonly id: string; readonly person: string };
    const person = await host.personOf(named);
    const seen = person && (await host.request(id, person));
    if (!person || !seen) return Response.json({ seen: false }, { status: 404 });
    const { digest } = seen;
    try {
      return Response.json(await host.decide(id, person, { decision: { type: 'approve' }, digest }));
    } catch (error) {
      return Response.json({ code: (error as { readonly code: string }).code }, { status: 403 });
    }
  },
};

test('a channel decides as the people it names, with their rights and its own name', async () => {
  const people = { rolesOf: (person: string) => (person === 'ben' ? ['finance'] : []) };
  const { ai, url } = await startServer({
    instance: { people },
    channels: [bot],
    identifyPerson: (id) => (id === 'mallory' ? undefined : { id, reach: 'all' }),
  });
  const paid: unknown[] = [];
  const pay = tool(
    {
      name: 'pay',
      description: 'Pays.',
      inputSchema: z.object({ to: z.string() }),
      needsApproval: { policy: { deciders: { roles: ['finance'] } } },
    },
    (input) => paid.push(input),
  );
  const treasurer = ai.defineAgent({ name: 'treasurer', tools: [pay] });
  const run = await treasurer.start('pay ACME', { by: 'ann' });
  await ai.runs.wait(run.id);
  const [id = ''] = (await ai.runs.get(run.id)).pending;
  const send = async (person: string, name = 'bot') => {
    const answer = await fetch(`${url}/channels/${name}/any`, { method: 'POST', body: JSON.stringify({ id, person }) });
    return { status: answer.status, body: (await answer.json()) as unknown };
  };
  expect(await send('ben', 'other')).toMatchObject({ status: 404, body: { code: 'not-found' } });
  expect(await send('mallory')).toEqual({ status: 404, body: { seen: false } });
  expect(await send('eve')).toEqual({ status: 403, body: { code: 'not-allowed' } });
  expect(paid).toEqual([]);
  expect(await send('ben')).toMatchObject({ status: 200, body: { status: 'settled' } });
  await ai.runs.wait(run.id);
  expect(paid).toHaveLength(1);
  expect((await ai.runs.request(id)).settlement).toMatchObject({ by: 'ben', channel: 'bot' });
});

test('channels need different names', async () => {
  await expect(startServer({ channels: [bot, bot] })).rejects.toThrow('different names');
});
