// What a server and an inbox need from `ai.runs`: search, statistics and notes.
import { countersign, memoryStore, z } from 'countersign';
import { sqliteStore } from 'countersign/sqlite';
import { scriptedModel } from 'countersign/testing';
import { describe, expect, test } from 'vitest';

const DAY_MS = 86_400_000;

describe.each(['memory', 'SQLite'])('on %s', (kind) => {
  function clerk() {
    let time = Date.UTC(2026, 5, 10, 12);
    const now = () => time;
    const ai = countersign({
      model: scriptedModel(({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? 'Done.'
          : { calls: [{ name: 'sendEmail', input: { to: 'ann@example.com', text: 'Your order 4711' } }] },
      ),
      store: kind === 'memory' ? memoryStore({ now }) : sqliteStore({ path: ':memory:', now }),
    });
    const sendEmail = ai.defineTool(
      {
        ...{ name: 'sendEmail', description: '', inputSchema: z.object({ to: z.string(), text: z.string() }) },
        needsApproval: () => ({ message: 'Shall it be sent?', labels: ['mail'] }),
      },
      () => 'sent',
    );
    const agent = ai.defineAgent({ name: 'clerk', tools: [sendEmail] });
    const start = async (by: string): Promise<string> => {
      const { id } = await agent.start('Write.', { by });
      const { pending } = await ai.runs.wait(id);
      return pending[0] ?? '';
    };
    const pass = (ms: number): void => {
      time += ms;
    };
    return { runs: ai.runs, start, pass, now };
  }

  test('questions are found by words in their input and by the starter of the run', async () => {
    const { runs, start } = clerk();
    const [ofAnn, ofBob] = [await start('ann'), await start('bob')];
    const found = async (query: object) => (await runs.requests(query)).items.map(({ id }) => id);
    expect(await found({ search: 'order 47' })).toEqual([ofAnn, ofBob]);
    expect(await found({ search: 'SENDEMAIL mail shall' })).toEqual([ofAnn, ofBob]);
    expect(await found({ search: 'toolRequest' })).toEqual([]);
    expect(await found({ search: 'order', startedBy: 'bob' })).toEqual([ofBob]);
    expect((await runs.request(ofBob)).startedBy).toBe('bob');
    await runs.decide(ofAnn, 'reject', { by: 'carl' });
    expect(await found({ search: 'order' })).toEqual([ofBob]);
    expect(await found({ search: 'order', settled: true })).toEqual([ofAnn]);
    await runs.stop();
  });

  test('the statistics count pending and decided questions and the time to decide', async () => {
    const { runs, start, pass } = clerk();
    const first = await start('ann');
    const second = await start('ann');
    const waiting = await start('bob');
    pass(DAY_MS);
    await runs.decide(first, 'approve');
    pass(1_000);
    await runs.decide(second, 'reject');
    const stats = await runs.stats({ days: 3 });
    // The creation time of a question is this process's estimate of the store's time.
    const about = (ms: number) => expect.closeTo(ms / 1_000, 0);
    expect(stats).toMatchObject({ waiting: 1, decided: 2 });
    const took = [stats.medianMs, stats.p95Ms, stats.tools[0]?.medianMs].map((ms) => (ms ?? 0) / 1_000);
    expect(took).toEqual([about(DAY_MS), about(DAY_MS + 1_000), about(DAY_MS)]);
    expect(stats.oldestWaitingAt).toBe((await runs.request(waiting)).createdAt);
    const counted = { tool: 'sendEmail', waiting: 1, approved: 1, rejected: 1, answered: 0, cancelled: 0 };
    expect(stats.tools).toMatchObject([counted]);
    expect(stats.days.map(({ day, approved, rejected }) => [day, approved, rejected])).toEqual([
      ['2026-06-09', 0, 0],
      ['2026-06-10', 0, 0],
      ['2026-06-11', 1, 1],
    ]);
    expect(await runs.stats({ days: 1, startedBy: 'bob' })).toMatchObject({ waiting: 1, decided: 0, medianMs: null });
    await expect(runs.stats({ days: 0 })).rejects.toMatchObject({ code: 'invalid-options' });
    await runs.stop();
  });

  test('a claim on a card has one owner, and lapses', async () => {
    const { runs, start, pass, now } = clerk();
    const card = await start('ann');
    const { notes } = runs;
    const claim = (by: string) => notes.put('claims', card, by, { version: 0, expiresAt: now() + 60_000 });
    expect(await claim('bob')).toBe(true);
    expect(await claim('carl')).toBe(false);
    pass(60_000);
    expect(await claim('carl')).toBe(true);
    expect((await notes.getMany('claims', [card])).map(({ value }) => value)).toEqual(['carl']);
    await runs.stop();
  });
});
