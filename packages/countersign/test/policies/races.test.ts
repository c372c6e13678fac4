// Many people vote at the same moment, in several processes: each is counted once, and the call runs once.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openStore, type Place } from '../crash/bank.ts';
import { startChild } from '../crash/children.ts';
import { testServer } from '../stores/postgres-server.ts';
import { openBank } from './bank.ts';
import type { Volley, VoterOptions } from './voter-child.ts';

const PROCESSES = 3;
const VOTES = 50;

const postgres = await testServer();
const folder = mkdtempSync(join(tmpdir(), 'countersign-votes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function race(name: string, place: Place): Promise<void> {
  const ledger = join(folder, `${name}-paid`);
  writeFileSync(ledger, '');
  const store = openStore(place);
  await store.migrate();
  const options: VoterOptions = { place, ledger, count: VOTES };
  const children = Array.from({ length: PROCESSES }, () =>
    startChild(join('..', 'policies', 'voter-child.ts'), options),
  );
  try {
    const policy = { quorum: [{ of: { roles: ['finance'] }, count: VOTES }] };
    const { runs, ask } = openBank({ store, needsApproval: { policy } });
    const { id } = await ask(`votes-${name}`);
    await Promise.all(children.map(({ line }) => line()));
    const at = Date.now() + 50;
    const answers = await Promise.all(
      children.map(async (child, index) => {
        // Every fifth person votes twice, from two processes.
        const mine = Array.from({ length: VOTES }, (_, person) => person).filter(
          (person) => person % PROCESSES === index || (person % 5 === 0 && (person + 1) % PROCESSES === index),
        );
        child.say({ at, id, people: mine.map((person) => `person ${person}`) } satisfies Volley);
        const line = await child.line();
        if (line === undefined) throw new Error((await child.ended).errors);
        return JSON.parse(line) as readonly string[];
      }),
    );
    expect((await runs.wait(`votes-${name}`)).status).toBe('done');
    const events = await runs.recorded(`votes-${name}`);
    const voters = events.flatMap((event) => (event.type === 'vote-cast' ? [event.vote.by] : []));
    expect({ votes: voters.length, people: new Set(voters).size }).toEqual({ votes: VOTES, people: VOTES });
    expect(events.filter(({ type }) => type === 'decision-made')).toHaveLength(1);
    expect(answers.flat()).toContain('settled');
    expect(readFileSync(ledger, 'utf8')).toBe('paid\n');
    expect(await runs.verify(`votes-${name}`)).toMatchObject({ ok: true });
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map(({ ended }) => ended));
    await store.close();
  }
}

const places: readonly (readonly [string, () => Promise<Place>])[] = [
  ['SQLite', async () => ({ sqlite: join(folder, 'votes.db') })],
  ...(postgres ? [['PostgreSQL', async () => ({ postgres: await postgres.freshDatabase() })] as const] : []),
];

test.each(places)(
  'on %s, 50 people vote at once in three processes',
  async (name, place) => race(name, await place()),
  60_000,
);
