// Rule 7, with a form: a body asks for an answer that fits a schema, and continues with it.
import { approve, countersign, memoryStore, OutcomeUnknown, reject, respond, restart, tool, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { requestCard } from 'countersign/ui';
import { describe, expect, test } from 'vitest';
import { calls, failureOf, only, outputs, scripted, travelled } from './support.ts';

const SEAT = { type: 'object', properties: { row: { type: 'integer' } }, required: ['row'] };

function booking(log: unknown[], options: object = {}) {
  return tool({ name: 'book', description: 'Books a seat.' }, (_input, { interrupt, resumed }) => {
    log.push(resumed);
    if (resumed === undefined) interrupt({ message: 'Which row?' }, { answerSchema: SEAT, ...options });
    return resumed.rejected ? 'no seat' : `row ${resumed.answer.row}`;
  });
}

describe('rule 7: a body that asks for an answer', () => {
  test('continues with it, and the card carries its schema', async () => {
    const log: unknown[] = [];
    const book = booking(log);
    const { ai } = scripted([calls({ name: 'book', ref: 'r1' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [book] });
    const part = only(paused.interrupts);
    expect(part.metadata).toMatchObject({ answerSchema: SEAT });
    const messages = travelled(paused.messages);
    const answered = await ai.generate({ tools: [book], messages, resume: [book.respond(part, { row: 0 })] });
    expect(log).toEqual([undefined, { answer: { row: 0 } }]);
    expect(outputs(answered.messages)).toEqual(['row 0']);
  });

  test.each([
    ['an answer that does not fit', (part: any) => respond(part, { row: 'front' })],
    ['an approval without an answer', (part: any) => approve(part)],
    ['a restart with another value', (part: any) => restart(part, true)],
  ])('refuses %s, and the body does not run', async (_name, decide) => {
    const log: unknown[] = [];
    const book = booking(log);
    const { ai } = scripted([calls({ name: 'book', ref: 'r1' }), 'done']);
    const { interrupts, messages } = await ai.generate({ prompt: 'go', tools: [book] });
    const error = await failureOf(ai.generate({ tools: [book], messages, resume: [decide(only(interrupts))] }));
    expect(error).toMatchObject({ code: 'invalid-resume' });
    expect(log).toHaveLength(1);
  });

  test('ends when a person rejects, unless it wants to be told', async () => {
    for (const [options, seen, told] of [
      [{}, [undefined], expect.stringContaining('was rejected')],
      [{ onReject: 'resume' }, [undefined, { rejected: true, reason: 'sold out' }], 'no seat'],
    ] as const) {
      const log: unknown[] = [];
      const book = booking(log, options);
      const { ai } = scripted([calls({ name: 'book', ref: 'r1' }), 'done']);
      const { interrupts, messages } = await ai.generate({ prompt: 'go', tools: [book] });
      const resume = [reject(only(interrupts), 'sold out')];
      const response = await ai.generate({ tools: [book], messages: travelled(messages), resume });
      expect(log).toEqual(seen);
      expect(outputs(response.messages)).toEqual([told]);
    }
  });

  test('invalid options fail the call', async () => {
    for (const options of [{ answerSchema: { row: 1 } }, { onReject: 'resume', answerSchema: undefined }]) {
      const { ai } = scripted([calls({ name: 'book', ref: 'r1' }), 'done']);
      const response = await ai.generate({ prompt: 'go', tools: [booking([], options)] });
      expect(outputs(response.messages)).toEqual([expect.stringContaining('Invalid question options from book')]);
    }
  });

  test('in a store, its card offers the form, and no deadline can approve it', async () => {
    const ai = countersign({ model: scriptedModel([calls({ name: 'book' }), 'done']), store: memoryStore() });
    const book = booking([], { answerSchema: z.object({ row: z.int() }), onExpiry: 'approve', expiresIn: 60_000 });
    const agent = ai.defineAgent({ name: 'clerk', description: 'Books.', tools: [book] });
    const { id: runId } = await agent.start({ prompt: 'go' });
    await ai.runs.wait(runId);
    const [interrupt] = (await ai.runs.requests({ runId })).items;
    const card = requestCard(interrupt as never, agent, true);
    expect(card).toMatchObject({ allows: ['respond', 'reject'], onExpiry: 'reject' });
    expect(card.answerSchema).toMatchObject({ type: 'object', required: ['row'] });
    await ai.runs.decide(card.id, { type: 'respond', output: { row: 3 } }, { by: 'ann' });
    await ai.runs.wait(runId);
    expect((await ai.runs.get(runId)).status).toBe('done');
    expect((await ai.runs.verify(runId)).ok).toBe(true);
  });
});

describe('rule 12: a body that cannot know whether it acted', () => {
  test('leaves the call in doubt, and a person says what happened', async () => {
    let starts = 0;
    const pay = tool({ name: 'pay', description: 'Pays.' }, () => {
      starts += 1;
      throw new OutcomeUnknown('The bank did not answer.');
    });
    const { ai } = scripted([calls({ name: 'pay', ref: 'r1' }), 'done']);
    const paused = await ai.generate({ prompt: 'go', tools: [pay] });
    const part = only(paused.interrupts);
    expect(part.metadata?.interruptKind).toBe('doubt');
    const response = await ai.generate({
      tools: [pay],
      messages: paused.messages,
      resume: [pay.respond(part, 'paid')],
    });
    expect(outputs(response.messages)).toEqual(['paid']);
    expect(starts).toBe(1);
  });

  test('fails if it is idempotent: it does not run again by itself', async () => {
    let starts = 0;
    const pay = tool({ name: 'pay', description: 'Pays.', idempotent: true }, () => {
      starts += 1;
      throw new OutcomeUnknown('The bank did not answer.');
    });
    const { ai } = scripted([calls({ name: 'pay', ref: 'r1' }), 'done']);
    const response = await ai.generate({ prompt: 'go', tools: [pay] });
    expect(outputs(response.messages)).toEqual([expect.stringContaining('The bank did not answer.')]);
    expect(starts).toBe(1);
  });
});
