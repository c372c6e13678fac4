// The inbox of a person whom a request names by id, without any role: whatever names them, their list has it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Countersign, type CountersignOptions, type ToolConfig, tool } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { startServer } from './server.ts';

const FINN = { deciders: { people: ['finn'] } };
const ZOE = { deciders: { people: ['zoe'] } };

type Case = {
  /** The options of the tool that asks. */
  readonly asks?: Partial<ToolConfig>;
  readonly instance?: Partial<CountersignOptions>;
  /** Before the run starts, and while its request waits. */
  readonly before?: (ai: Countersign) => unknown;
  readonly meanwhile?: (ai: Countersign, id: string) => unknown;
};

async function inboxOf({ asks = {}, instance = {}, before, meanwhile }: Case) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-mine-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const server = await startServer({ instance, store: sqliteStore(join(folder, 'runs')) });
  const { ai, as } = server;
  const send = tool({ name: 'look', description: 'Looks.', ...asks }, () => 'seen');
  const clerk = ai.defineAgent({ name: 'clerk', tools: [send] });
  await before?.(ai);
  const ask = async (by: string): Promise<string> => {
    const { id } = await clerk.start('look', { by });
    return (await ai.runs.wait(id)).pending[0] ?? '';
  };
  const id = await ask('ann');
  await meanwhile?.(ai, id);
  const list = async (person: string): Promise<readonly string[]> => {
    const { body } = await (await as(person))('GET', '/api/v1/requests');
    return body.items.map((item: { id: string }) => item.id);
  };
  return { id, ai, as, list };
}

const cases: Readonly<Record<string, Case>> = {
  'the policy of a tool': { asks: { needsApproval: { policy: FINN } } },
  'the policy of a rule': { instance: { rules: [{ tool: 'look', policy: FINN }] } },
  'the policy of a rule that is applied later': { before: (ai) => ai.applyRules([{ tool: 'look', policy: FINN }]) },
  'a policy that needsApproval returns': { asks: { needsApproval: () => ({ policy: FINN }) } },
  'a group of a quorum': { asks: { needsApproval: () => ({ policy: { quorum: [{ of: FINN.deciders, count: 1 }] } }) } },
  'an escalation': {
    asks: { needsApproval: () => ({ policy: ZOE, escalate: [{ after: 1, to: FINN.deciders }] }) },
    meanwhile: async (ai, id) => {
      const worker = ai.runs.work({ pollMs: 5 });
      await expect.poll(async () => (await ai.runs.request(id)).progress?.escalatedTo).toEqual([FINN.deciders]);
      await worker.stop();
    },
  },
  'an assignment': {
    asks: { needsApproval: () => ({ policy: { deciders: { roles: ['finance'] } } }) },
    instance: { people: { rolesOf: (person) => (person === 'finn' ? ['finance'] : []) } },
    meanwhile: (ai, id) => ai.runs.assign(id, { to: 'finn', by: 'ann' }),
  },
  'the absence of a person whom they stand in for': {
    asks: { needsApproval: () => ({ policy: ZOE }) },
    instance: { people: { contactOf: (person) => (person === 'finn' ? { mail: 'finn@example.com' } : undefined) } },
    before: (ai) => ai.people.absent('zoe', { delegate: 'finn', until: Date.now() + 3_600_000, by: 'zoe' }),
  },
};

test.each(Object.entries(cases))('a person named by %s has the request in their list', async (_, given) => {
  const { id, list, as, ai } = await inboxOf(given);
  expect([await list('finn'), await list('ann'), await list('eve')]).toEqual([[id], [id], []]);
  const finn = await as('finn');
  expect((await finn('GET', `/api/v1/requests/${encodeURIComponent(id)}`)).status).toBe(200);
  const { runId } = await ai.runs.request(id);
  expect((await finn('GET', `/api/v1/runs/${runId}`)).status).toBe(200);
});

test('the list of a person reads no requests of others that do not name them', async () => {
  const { ai, list } = await inboxOf({ asks: { needsApproval: () => ({ policy: ZOE }) } });
  const read: number[] = [];
  const { listRequests } = ai.runs.store;
  ai.runs.store.listRequests = async (query) => {
    const page = await listRequests.call(ai.runs.store, query);
    read.push(page.items.length);
    return page;
  };
  expect(await list('eve')).toEqual([]);
  expect(read).toEqual([0]);
});
