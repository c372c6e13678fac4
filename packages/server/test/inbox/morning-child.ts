// The server of the morning, in a process that can be killed: an agent that pays by a bank which refuses, hangs or pays.
import { appendFileSync, writeSync } from 'node:fs';
import { serve } from '@countersign/server';
import { countersign, OutcomeUnknown, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';

// Ends with its parent process.
process.stdin.on('end', () => process.exit()).resume();

const [path = '', port = '0', inboxDir = '', effects = ''] = process.argv.slice(2);
const people: Readonly<Record<string, readonly string[]>> = { ann: [], ben: ['finance'], cem: ['finance'] };
const rolesOf = (person: string) => people[person] ?? [];
const membersOf = (role: string) => Object.keys(people).filter((person) => rolesOf(person).includes(role));

/** The user's message holds the payments as JSON. */
const model = scriptedModel(({ messages }) => {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  if (messages.slice(last + 1).some(({ role }) => role === 'tool')) return 'That is all.';
  const said = messages[last]?.content.map((part) => ('text' in part ? part.text : '')).join('') ?? '[]';
  return { calls: (JSON.parse(said) as object[]).map((input) => ({ name: 'pay', input })) };
});
const ai = countersign({
  model,
  store: sqliteStore(path),
  retry: false,
  leaseMs: 15_000,
  people: { rolesOf, membersOf },
});
const finance = { roles: ['finance'] };
const pay = ai.defineTool(
  {
    name: 'pay',
    description: 'Pays an invoice.',
    inputSchema: z.object({ to: z.string().meta({ title: 'Payee' }), amount: z.number().meta({ title: 'Amount' }) }),
    title: ({ to, amount }) => `Pay €${amount} to ${to}`,
    outcome: (output: unknown) => `Paid, reference ${(output as { readonly reference: string }).reference}`,
    howToCheck: 'Look for the key in the journal of the bank.',
    // Two people above 500; below, one who did not ask.
    needsApproval: ({ amount }) =>
      amount > 500
        ? { policy: { quorum: [{ of: finance, count: 2 }] }, risk: 'high' }
        : { policy: { deciders: finance, notRequester: true } },
  },
  async ({ to, amount }, { idempotencyKey }) => {
    appendFileSync(effects, `${to} ${amount} ${idempotencyKey}\n`);
    if (to === 'Hanging Ltd') await new Promise(() => undefined);
    if (to === 'Refused Ltd') throw new Error('The bank refused: the account is closed.');
    if (to === 'Silent Ltd') throw new OutcomeUnknown('The line went dead.');
    return { reference: `R-${amount}` };
  },
);
ai.defineAgent({ name: 'accounts', description: 'Pays invoices.', tools: [pay] });
const server = await serve(ai, {
  port: Number(port),
  inboxDir,
  identify: (request) => {
    const id = request.headers.get('x-user');
    return id === null ? null : { id, roles: rolesOf(id) };
  },
});
writeSync(1, `${JSON.stringify({ port: server.port })}\n`);
