// The office whose database each release keeps: its tools, its people, and every state that a run can be left in.
import { type Countersign, countersign, type Gate, type RunRequest, type Store, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';

const STUCK = new Promise<never>(() => undefined);
export const TWO_OF_FINANCE = { quorum: [{ of: { roles: ['finance'] }, count: 2 }] };

/** `isStuck`: the payment to Stuck never ends, as in a process that dies. */
export function openOffice(store: Store, { isStuck = false, leaseMs = 7_500 } = {}) {
  const paid: string[] = [];
  const ai = countersign({
    store,
    leaseMs,
    retry: false,
    model: scriptedModel(({ messages }) => {
      if (messages.at(-1)?.role === 'tool') return 'Done.';
      const [asked] = messages.findLast(({ role }) => role === 'user')?.content ?? [];
      return { calls: JSON.parse((asked as { text: string }).text) };
    }),
    people: { roles: ['finance'], rolesOf: () => ['finance'] },
    rules: [{ tool: 'look', limit: { calls: 500, per: '1h' } }],
  });
  const inputSchema = z.object({ to: z.string(), amount: z.number() });
  const paying = async ({ to, amount }: { to: string; amount: number }) => {
    if (isStuck && to === 'Stuck') return STUCK;
    paid.push(`${to} ${amount}`);
    return { paid: amount };
  };
  const pay = ai.defineTool({ name: 'pay', description: 'Pays.', inputSchema, needsApproval: true }, paying);
  const policy = ai.definePolicy('two', TWO_OF_FINANCE);
  const wire = ai.defineTool({ name: 'wire', description: 'Wires.', inputSchema, needsApproval: { policy } }, paying);
  const look = ai.defineTool({ name: 'look', description: 'Looks.', inputSchema }, paying);
  const ask = ai.defineInterrupt({ name: 'ask', description: 'Asks.', inputSchema, outputSchema: z.string() });
  const helper = ai.defineAgent({ name: 'helper', tools: [pay] });
  const clerk = ai.defineAgent({ name: 'clerk', tools: [pay, wire, look, ask, helper] });
  const start = async (runId: string, ...calls: readonly (readonly [string, object])[]) => {
    const text = JSON.stringify(calls.map(([name, input]) => ({ name, input })));
    await clerk.start(text, { runId, by: 'ann' });
    return ai.runs.wait(runId);
  };
  const gate: Gate<any, any> = ai.gate(pay);
  return { ai, paid, start, clerk, gate };
}

export const requestsOf = async (ai: Countersign, runId: string): Promise<readonly RunRequest[]> =>
  (await ai.runs.requests({ runId })).items;

const to = (name: string, amount = 10) => ({ to: name, amount });

/** Leaves runs in every state. The last one dies in the middle of its payment. */
export async function fill(store: Store): Promise<void> {
  const { ai, start, clerk, gate } = openOffice(store, { isStuck: true });
  const approve = async (runId: string, options: object = {}) => {
    for (const request of await requestsOf(ai, runId))
      await ai.runs.decide(request, 'approve', { by: 'ben', ...options });
    return ai.runs.wait(runId);
  };
  await start('done', ['pay', to('ACME')], ['look', to('here')]);
  await approve('done');
  await start('waiting', ['pay', to('Waits')]);
  await ai.runs.comment((await requestsOf(ai, 'waiting'))[0]?.id ?? '', { text: 'Is it due?', by: 'cara' });
  await start('asked', ['ask', to('Question')]);
  await start('half', ['wire', to('Half')]);
  await approve('half');
  await start('inside', ['helper', { prompt: JSON.stringify([{ name: 'pay', input: to('Inside') }]) }]);
  await start('rejected', ['pay', to('No')]);
  for (const request of await requestsOf(ai, 'rejected')) await ai.runs.decide(request, 'reject', { by: 'ben' });
  await ai.runs.wait('rejected');
  await start('cancelled', ['pay', to('Never')]);
  await ai.runs.cancel('cancelled', { by: 'ann' });
  await start('granting', ['pay', to('ACME')]);
  const grant = {
    where: [{ field: 'to', equals: 'ACME' }],
    uses: 3,
    expiresAt: Date.UTC(2126, 0, 1),
    serves: { people: ['ann'] },
  };
  await approve('granting', { grant: { ...grant, expiresAt: (await store.now()) + 80 * 86_400_000 } });
  await start('granted', ['pay', to('ACME', 20)]);
  await gate.request(to('Outside'), { key: 'k', by: 'ann' });
  await ai.freezes.freeze({ tools: ['wire'], reason: 'Stop.' }, { by: 'eve' });
  await clerk.start(JSON.stringify([{ name: 'pay', input: to('Stuck') }]), { runId: 'doubt', by: 'ann' });
  await ai.runs.wait('doubt');
  for (const request of await requestsOf(ai, 'doubt'))
    await ai.runs.decide(request, 'approve', { by: 'ben', drive: false });
  void ai.runs.drive('doubt').catch(() => undefined);
  for (;;) {
    const events = await ai.runs.recorded('doubt');
    if (events.some(({ type }) => type === 'call-started')) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
