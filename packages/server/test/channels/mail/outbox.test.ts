// The outbox and the channel together: a request becomes a mail, and its decision another one in the same thread.
import { countersign, memoryStore } from 'countersign';
import { expect, onTestFinished, test } from 'vitest';
import { defineTeller, obedientModel } from '../../server.ts';
import { openPostOffice } from './post-office.ts';

test('people named by mail address get the request and its outcome, once each', async () => {
  const office = await openPostOffice();
  const ai = countersign({
    model: obedientModel(),
    retry: false,
    store: memoryStore(),
    channels: [office.channel],
    notify: { everyone: ['ann@example.com', 'ben@example.com'] },
  });
  defineTeller(ai);
  const worker = ai.runs.work({ pollMs: 100 });
  onTestFinished(async () => void (await worker.stop()));
  await ai.agents.get('teller')?.start('pay bob 950', { runId: 'run' });
  const [id = ''] = (await ai.runs.wait('run')).pending;
  const arrived = () => office.mails.map(({ recipients, subject }) => `${recipients} ${subject}`).sort();
  const first = ['ann@example.com Pay 950 to bob', 'ben@example.com Pay 950 to bob'];
  await expect.poll(arrived).toEqual(first);
  await ai.runs.decide(id, 'approve', { by: 'ann@example.com' });
  await expect.poll(arrived).toEqual([...first, 'ben@example.com Re: Pay 950 to bob'].sort());
  const updates = office.mails.filter(({ subject }) => subject?.startsWith('Re:'));
  for (const update of updates) {
    const opened = office.mails.find(({ messageId }) => messageId === update.inReplyTo);
    expect(opened?.recipients).toEqual(update.recipients);
    expect(update.text).toMatch(/^Approved by ann@example\.com at /);
  }
});
