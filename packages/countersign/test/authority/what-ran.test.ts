// Law 5: what ran is what the last settled request showed, with its edits, and the record alone proves it.
import { countersign, evidenceText, memoryStore, verifyEvidence, z } from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const person = fc.constantFrom('ann', 'bob', 'cleo', 'dan');
const step = fc.record({
  by: person,
  does: fc.oneof(
    { weight: 4, arbitrary: fc.constant('approve' as const) },
    { weight: 1, arbitrary: fc.constant('reject' as const) },
    { weight: 2, arbitrary: fc.constantFrom(5, 50, 500, 5_000) },
  ),
});

test('whoever votes and edits in whatever order', async () => {
  let runs = 0;
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 1, maxLength: 8 }),
    fc.boolean(),
    async (steps, isFourEyes) => {
      const paid: { amount: number }[] = [];
      const ai = countersign({
        store: memoryStore(),
        model: scriptedModel([{ calls: [{ name: 'pay', ref: 'p', input: { amount: 100 } }] }, 'Done.']),
        rules: [{ tool: 'pay', where: [{ field: 'amount', above: 1_000 }], policy: { deciders: { people: ['dan'] } } }],
        policyFor: ({ input }) =>
          (input as { amount: number }).amount > 10
            ? { quorum: [{ of: { people: ['bob', 'cleo', 'dan'] }, count: 2 }] }
            : undefined,
      });
      const pay = ai.defineTool(
        {
          name: 'pay',
          description: '',
          inputSchema: z.object({ amount: z.number() }),
          needsApproval: isFourEyes ? { policy: { notRequester: true } } : true,
        },
        (input) => {
          paid.push(input);
          return 'paid';
        },
      );
      const { id } = await ai.defineAgent({ name: 'teller', tools: [pay] }).start('Pay.', { by: 'ann' });
      await internalsOf(ai.runs).rested(id);
      let shown: { readonly id: string; readonly input: unknown } | undefined;
      for (const { by, does } of steps) {
        const [request] = (await ai.runs.requests({ runId: id, settled: false })).items;
        if (!request) break;
        shown = request;
        const decision = typeof does === 'number' ? ({ type: 'approve', edit: { amount: does } } as const) : does;
        const decided = await ai.runs.decide(request.id, decision, { by, evenIfOutOfReach: true }).catch((error) => {
          expect(error).toMatchObject({ code: 'not-allowed' });
        });
        if (decided?.status === 'settled' && typeof does === 'number') shown = { ...request, input: { amount: does } };
        await internalsOf(ai.runs).rested(id);
      }
      expect(paid.length).toBeLessThanOrEqual(1);
      if (paid.length === 1) {
        expect(paid[0]).toEqual(shown?.input);
        runs += 1;
      }
      const { problems } = await verifyEvidence(evidenceText(await ai.runs.evidence(id)));
      expect(problems).toEqual([]);
      const started = (await ai.runs.evidence(id)).started.map(({ by }) => by);
      expect(started).toEqual(paid.map(() => 'approval'));
    },
  );
  await fc.assert(property, { numRuns: 60 });
  // A law that nothing reaches would prove nothing.
  expect(runs).toBeGreaterThan(5);
}, 120_000);
