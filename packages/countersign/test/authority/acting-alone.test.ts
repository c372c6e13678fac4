// Law 3: whoever cannot approve a call cannot cause it to run by any act of their own, earlier or later: a vote, an edit, a grant,
// a repeated decision, a delegate, or waiting. One person acts, on runs that others start; nobody else decides anything.
import { evidenceText, type PolicyConfig, verifyEvidence } from 'countersign';
import { internalsOf } from 'countersign/store';
import { scriptedModel } from 'countersign/testing';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Policies, Who } from '../../src/core/authority/policy.ts';
import { isFor, tally } from '../../src/core/authority/tally.ts';
import { HOUR, openTeller } from './teller.ts';

const ACTOR = 'eve';
const AMOUNTS = [5, 500, 50_000];

const who = fc.constantFrom([ACTOR], [ACTOR, 'boss'], ['ann', ACTOR], ['boss']).map((people) => ({ people }));
const rarely = <T>(value: T) => fc.constantFrom(undefined, undefined, undefined, value);
const policy: fc.Arbitrary<PolicyConfig> = fc
  .record({
    deciders: who,
    notRequester: rarely(true as const),
    quorum: fc.oneof(
      { weight: 3, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: who.map((of) => [{ of, count: 1 }]) },
    ),
    signed: rarely('passkey' as const),
    grants: fc.constant({ uses: 10, expiresWithin: '7d' }),
    escalate: rarely([{ after: '1h', to: { people: ['boss', ACTOR] } }]),
    expireAfter: rarely('3h'),
  })
  .map((given) => JSON.parse(JSON.stringify(given)) as PolicyConfig);

const amount = fc.constantFrom(...AMOUNTS);
const at = fc.nat(1);
const grants = fc.boolean();
const start = fc.record({ does: fc.constant('start' as const), by: fc.constantFrom('ann', ACTOR), amount });
const act = fc.oneof(
  { weight: 4, arbitrary: start },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('approve' as const), at, grants, asBoss: rarely(true) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('edit' as const), at, grants, amount }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('repeat' as const), at: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('stand in' as const) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('wait' as const) }) },
);

test('one person acts alone', async () => {
  let [payments, refusals] = [0, 0];
  const property = fc.asyncProperty(
    fc.tuple(policy, policy, policy),
    fc.tuple(start, fc.array(act, { minLength: 3, maxLength: 12 })).map(([first, more]) => [first, ...more]),
    async (tiers, acts) => {
      const policyOf = (amount: number): PolicyConfig => tiers[AMOUNTS.indexOf(amount)] as PolicyConfig;
      const teller = openTeller(
        { needsApproval: ({ amount }: any) => ({ policy: policyOf(amount) }) },
        {
          people: { rolesOf: (person: string) => [`role of ${person}`] },
          model: scriptedModel(({ messages }) => {
            const said = messages.findLast(({ role }) => role === 'user')?.content[0] as { readonly text: string };
            if (messages.at(-1)?.role === 'tool') return 'Done.';
            return { calls: [{ name: 'pay', ref: 'p', input: { amount: Number(said.text) } }] };
          }),
        },
      );
      const { ai, runs } = teller;
      const seen: string[] = [];
      const refused = (error: unknown) => {
        expect(error).toHaveProperty('code');
        refusals += 1;
      };
      const grant = async () => ({
        uses: 10,
        serves: { agents: ['teller'] },
        expiresAt: (await runs.store.now()) + 24 * HOUR,
      });
      for (const step of acts) {
        const pending = (await runs.requests({ settled: false })).items;
        for (const { id } of pending) if (!seen.includes(id)) seen.push(id);
        const request = 'at' in step ? pending[step.at] : undefined;
        if (step.does === 'start') {
          const { id } = await teller.teller.start(`${step.amount}`, { by: step.by });
          await internalsOf(runs).rested(id);
        } else if (step.does === 'stand in') {
          const until = (await runs.store.now()) + 24 * HOUR;
          await ai.people.absent('boss', { delegate: ACTOR, until, by: ACTOR }).catch(refused);
        } else if (step.does === 'wait') {
          teller.later(2 * HOUR);
          for (const { runId } of pending) await runs.drive(runId);
        } else if (step.does === 'repeat') {
          const id = seen[step.at];
          if (id) await runs.decide(id, 'approve', { by: ACTOR, grant: await grant() }).catch(refused);
        } else if (request) {
          const decision =
            step.does === 'edit' ? { type: 'approve' as const, edit: { amount: step.amount } } : 'approve';
          await runs
            .decide(request.id, decision, {
              by: ACTOR,
              ...(step.does === 'approve' && step.asBoss && { onBehalfOf: 'boss' }),
              ...(step.grants && { grant: await grant() }),
            })
            .catch(refused);
        }
        await runs.settled();
      }
      const { items } = await runs.list({ limit: 100 });
      for (const { id, startedBy } of items) {
        const evidence = await runs.evidence(id);
        expect((await verifyEvidence(evidenceText(evidence))).problems).toEqual([]);
        const ran = evidence.started.length > 0;
        if (!ran) continue;
        payments += 1;
        const edits = evidence.requests.flatMap(({ settled }) =>
          settled?.decision?.type === 'approve' && settled.decision.input !== undefined ? [settled.decision.input] : [],
        );
        const [said] = evidence.events.flatMap((event) =>
          event.type === 'model-replied' ? event.content.flatMap((part: any) => part.toolRequest?.input ?? []) : [],
        );
        const input = (edits.at(-1) ?? said) as { readonly amount: number };
        const requesters = [startedBy ?? '', ...(edits.length > 0 ? [ACTOR] : [])];
        const { escalate: later, expireAfter: _expire, grants: _grants, ...counted } = policyOf(input.amount);
        // Whom a policy itself names after a while is one of its people, then.
        const escalatedTo = later?.map(({ to }) => to as Who) ?? [];
        const alone = tally(
          [counted] as unknown as Policies,
          { votes: [{ by: ACTOR, decision: { type: 'approve' } }], requesters, escalatedTo },
          input,
        );
        expect(alone.status === 'settled' && isFor(alone.vote), JSON.stringify({ input, counted, startedBy })).toBe(
          true,
        );
      }
    },
  );
  // The same policy as data, and only the smaller amount escalates to her.
  const boss = { deciders: { people: ['boss'] }, grants: { uses: 10, expiresWithin: '7d' } };
  const escalating = { ...boss, escalate: [{ after: '1h', to: { people: ['boss', ACTOR] } }] };
  const waits = [{ does: 'start' as const, by: 'ann', amount: 500 }, { does: 'wait' as const }];
  const edits = { does: 'edit' as const, at: 0, grants: false, amount: 50_000 };
  const examples = [
    [
      [boss, escalating, boss],
      [...waits, edits],
    ],
  ] as never;
  await fc.assert(property, { numRuns: 150, examples });
  // A law that nothing reaches would prove nothing.
  expect(payments).toBeGreaterThan(20);
  expect(refusals).toBeGreaterThan(50);
}, 120_000);
