// Every door through which people decide meets every way round who may decide: ann's own honest client, with her own credential, on a
// request that she may not approve. The door refuses, nothing is recorded or paid, and on the record somebody else still can.
import type { RunRequest } from 'countersign';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorkplace } from '../cli/workplace.ts';
import { agui } from './agui.ts';
import { api } from './api.ts';
import { chatSealed } from './chat-sealed.ts';
import { chatStored } from './chat-stored.ts';
import { cli } from './cli.ts';
import { type Asked, type Door, type OpenDoor, type Reply, replyOf } from './door.ts';
import type { Payment } from './house.ts';
import { links } from './links.ts';
import { mail } from './mail.ts';
import { Matrix } from './matrix.ts';
import { mcpInbox } from './mcp-inbox.ts';
import { slack } from './slack.ts';
import { webhook } from './webhook.ts';
import { type OwnWorld, openWorld, type World } from './world.ts';

/** What a door needs for this: asking, and deciding honestly. */
type Plain = { readonly name: string; open(world: World): Promise<Pick<OpenDoor, 'ask' | 'decide' | 'close'>> };

const onRecord = (world: World) => async (payment: Payment) => {
  const { id, runId, digest } = await world.start(payment);
  return { ...payment, id, runId, digest };
};

const inCode: Plain = {
  name: 'runs.decide',
  open: async (world) => ({
    ask: onRecord(world),
    decide: ({ id = '' }) =>
      world.ai.runs.decide(id, 'approve', { by: 'ann' }).then(
        ({ status }): Reply => ({ accepted: status === 'settled', text: status }),
        (error): Reply => ({ accepted: false, text: String(error) }),
      ),
  }),
};

const many: Plain = {
  name: 'API, many at once',
  open: async (world) => {
    const token = await world.tokenFor('ann');
    return {
      ask: onRecord(world),
      decide: async (asked) => {
        const { id, digest } = asked as Asked & { readonly digest: string };
        const response = await fetch(`${world.url}/api/v1/decisions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify({ items: [{ requestId: id, digest, decision: { type: 'approve' } }] }),
        });
        return replyOf(response, (text) => text.includes('"settled"'));
      },
    };
  },
};

const cliOnStore: Plain = {
  name: 'CLI on a store',
  open: async (world) => {
    const place = createWorkplace();
    return {
      ask: onRecord(world),
      decide: async ({ id = '' }) => {
        const where = ['--store', `sqlite:${world.file}`, '--by', 'ann'];
        const { code, stdout, stderr } = await place.countersign(['decide', id, '--approve', ...where]);
        return { accepted: code === 0, text: `${code} ${stdout} ${stderr}` };
      },
      close: async () => place.close(),
    };
  },
};

const DOORS: readonly Plain[] = [
  inCode,
  many,
  cliOnStore,
  ...([api, links, mail, slack, webhook, mcpInbox, agui, cli, chatStored, chatSealed] satisfies readonly Door[]),
];

/** Each way round: its payment, and what happens to the request before ann decides it. In a chat, ann has always asked herself. */
const WAYS: Readonly<Record<string, { readonly to: string; readonly amount?: number; readonly start?: Prepare }>> = {
  'as somebody whom the policy does not name': { to: 'boss' },
  'as the starter, under four eyes': { to: 'four eyes', start: (world, payment) => started(world, payment, 'ann') },
  'as the author of the message, under four eyes': { to: 'four eyes', start: spoken },
  'as the editor, under four eyes': {
    to: 'four eyes',
    start: async (world, payment) => edited(world, await started(world, payment, 'carl'), payment),
  },
  'by an edit over her limit': {
    to: 'limit',
    amount: 5_000,
    start: async (world, payment) => edited(world, await started(world, { ...payment, amount: 10 }, 'carl'), payment),
  },
  'by a grant for a call over her limit': { to: 'limit', amount: 5_000, start: granted },
  'without a signature': { to: 'signed' },
  'as the delegate of a person who must sign': { to: 'delegate' },
};

/** Needs the record: a chat begins by itself. */
type Prepare = (world: World, payment: Payment) => Promise<RunRequest>;

async function started({ ai }: World, payment: Payment, by: string): Promise<RunRequest> {
  const run = await ai.agents.get('teller')?.start(`pay ${JSON.stringify(payment)}`, { by });
  const [id = ''] = (await ai.runs.wait(run?.id ?? '')).pending;
  return ai.runs.request(id);
}

async function spoken({ ai }: World, payment: Payment): Promise<RunRequest> {
  const teller = ai.agents.get('teller') as any;
  const run = await teller.start('Hello.', { by: 'carl' });
  await ai.runs.wait(run.id);
  await teller.chat({ runId: run.id, by: 'ann' }).send(`pay ${JSON.stringify(payment)}`);
  const [id = ''] = (await ai.runs.wait(run.id)).pending;
  return ai.runs.request(id);
}

async function edited({ ai }: World, { id }: RunRequest, { to, amount }: Payment): Promise<RunRequest> {
  const decided = await ai.runs.decide(id, { type: 'approve', edit: { to, amount: amount + 1 } }, { by: 'ann' });
  if (decided.status !== 'waiting') throw new Error('The edit was settled by its editor.');
  return ai.runs.request(decided.requestId);
}

async function granted(world: World, payment: Payment): Promise<RunRequest> {
  const { ai } = world;
  const { id, runId } = await started(world, { ...payment, amount: 10 }, 'carl');
  const expiresAt = (await ai.runs.store.now()) + 3_600_000;
  await ai.runs.decide(id, 'approve', {
    by: 'ann',
    grant: { uses: 5, where: [{ field: 'to', equals: payment.to }], serves: { agents: ['teller'] }, expiresAt },
  });
  await ai.runs.wait(runId);
  return started(world, payment, 'carl');
}

let world: OwnWorld;
beforeAll(async () => {
  world = await openWorld();
  const until = Date.now() + 3_600_000;
  await world.ai.people.signedIn('ann');
  await world.ai.people.absent('signer', { delegate: 'ann', until, by: 'admin' });
});
afterAll(() => world.close());

let cells = 0;
const chats = new Set<string>([chatStored.name, chatSealed.name]);
const matrix = new Matrix<string>({
  heading: 'Ways round who may decide',
  says: 'Ann decides honestly, with her own credential, a request that she may not approve alone.',
  columns: Object.keys(WAYS),
});
const BY_HERSELF = {
  notApplicable: 'in a chat, ann asks herself: nobody else started, edited or granted anything before',
};

describe.each(DOORS)('$name', { timeout: 60_000 }, (door) => {
  test('an ordinary payment is approved', async () => {
    const open = await door.open(world);
    const asked = await open.ask({ to: `ordinary/${++cells}`, amount: 500 });
    expect(await open.decide(asked)).toMatchObject({ accepted: true });
    await expect.poll(() => world.paid(asked.to)).toHaveLength(1);
    await open.close?.();
  });

  const applies = (start?: Prepare) => !start || !chats.has(door.name);
  for (const [name, { start }] of Object.entries(WAYS)) if (!applies(start)) matrix.set(door.name, name, BY_HERSELF);
  const ways = Object.entries(WAYS).filter(([, { start }]) => applies(start));
  test.each(ways)('%s', async (name, { to, amount = 500, start }) => {
    const payment = { to: `${to}/${++cells}`, amount };
    // The small payment before it was ann's to approve.
    const paid = (payee: string) => world.paid(payee).filter((made) => made.amount !== 10);
    const open = await door.open({ ...world, paid, ...(start && { start: (asked) => start(world, asked) }) });
    // A door may refuse earlier: it shows ann nothing to send.
    const reply = await open
      .ask(payment)
      .then((asked) => open.decide(asked))
      .catch((error): Reply => ({ accepted: false, text: String(error) }));
    expect(reply).toMatchObject({ accepted: false });
    expect(reply.isFault ?? false, reply.text).toBe(false);
    expect(paid(payment.to)).toEqual([]);
    if (door.name !== chatSealed.name) {
      const request = await world.request(payment.to);
      expect(request.progress?.votes.filter(({ decision }) => !(decision as { edit?: unknown }).edit) ?? []).toEqual(
        [],
      );
      if (to !== 'signed' && to !== 'delegate') {
        await world.ai.runs.decide(request.id, 'approve', { by: 'boss' });
        await expect.poll(() => paid(payment.to)).toHaveLength(1);
      }
    }
    await open.close?.();
    matrix.set(door.name, name, 'held');
  });
});

test('docs/reference/doors.md has this matrix', () => matrix.compare(DOORS.length * Object.keys(WAYS).length));
