// A condition on a field that the input of its tool does not have is a mistake, and is refused where it is written.
import { countersign, memoryStore, type Rule, type ToolConfig, tool, z } from 'countersign';
import type { Condition } from 'countersign/request';
import { describe, expect, test } from 'vitest';
import { openPayer } from '../grants/kit.ts';

type SchemaInput = NonNullable<ToolConfig['inputSchema']>;

const MISSPELT: readonly Condition[] = [{ field: 'amuont', above: 1_000 }];
const WHO = { of: { roles: ['cfo'] }, count: 1 };
const POLICY = { quorum: [{ ...WHO, when: MISSPELT }] };
const SCHEMA = z.object({ to: z.string(), amount: z.number(), order: z.object({ total: z.number() }).optional() });
const REFUSED = /condition on amuont, which the input of pay does not have\. Its fields are: to, amount, order\.$/;

const ai = (rules: readonly Rule[] = []) => countersign({ store: memoryStore(), rules });
const pay = (inputSchema: SchemaInput = SCHEMA) => ({ name: 'pay', description: '', inputSchema });

describe('a field that the tool does not have is refused', () => {
  test.each<readonly [string, () => unknown]>([
    [
      'in the policy of the tool',
      () => ai().defineTool({ ...pay(), needsApproval: { policy: POLICY } }, () => undefined),
    ],
    [
      'in the maximum of its grants',
      () => {
        const grants = { uses: 5, field: 'amuont', expiresWithin: '7d' } as const;
        ai().defineTool({ ...pay(), needsApproval: { policy: { grants } } }, () => undefined);
      },
    ],
    [
      'in a policy that is defined before the tool',
      () => {
        const one = ai();
        one.definePolicy('payments', POLICY);
        one.defineTool({ ...pay(), needsApproval: { policy: 'payments' } }, () => undefined);
      },
    ],
    [
      'in a policy that is defined after the tool',
      () => {
        const one = ai();
        one.defineTool({ ...pay(), needsApproval: { policy: 'payments' } }, () => undefined);
        one.definePolicy('payments', POLICY);
      },
    ],
    ['in a rule before the tool', () => ai([{ tool: 'pay', where: MISSPELT }]).defineTool(pay(), () => undefined)],
    [
      'in a rule after the tool',
      () => {
        const one = ai();
        one.defineTool(pay(), () => undefined);
        one.applyRules([{ tool: ['mail', 'pay'], where: MISSPELT, then: 'deny' }]);
      },
    ],
    ['in the policy of a rule', () => ai([{ tool: 'pay', policy: POLICY }]).defineTool(pay(), () => undefined)],
    [
      'for a tool that only an agent has',
      () => {
        const one = ai([{ tool: 'pay', where: MISSPELT }]);
        one.defineAgent({ name: 'clerk', tools: [tool(pay(), () => undefined)] });
      },
    ],
    [
      'for a tool with JSON Schema',
      () => {
        const properties = { to: {}, amount: {}, order: {} };
        ai([{ tool: 'pay', where: MISSPELT }]).defineTool(pay({ type: 'object', properties }), () => undefined);
      },
    ],
  ])('%s', (_where, define) => {
    expect(define).toThrow(REFUSED);
  });

  test('deep inside the input', () => {
    const where = [{ field: ['order', 'totl'], above: 5 }];
    expect(() => ai([{ tool: 'pay', where }]).defineTool(pay(), () => undefined)).toThrow(
      'A rule for pay has a condition on order.totl',
    );
  });

  test('when a grant is given', async () => {
    const { give } = openPayer(memoryStore());
    await expect(give({ where: MISSPELT })).rejects.toThrow('the call at hand has no field amuont');
    await expect(give({ budget: { field: 'amuont', total: 500 } })).rejects.toThrow('has no field amuont');
  });
});

test.each<readonly [string, Rule, SchemaInput]>([
  ['a field that is there', { tool: 'pay', where: [{ field: ['order', 'total'], above: 5 }] }, SCHEMA],
  ['a rule for several tools, not all of which have it', { tool: 'p*', where: MISSPELT }, SCHEMA],
  ['a rule for every tool', { where: MISSPELT }, SCHEMA],
  ['a schema that takes more fields', { tool: 'pay', where: MISSPELT }, z.looseObject({})],
  [
    'a schema that makes other fields',
    { tool: 'pay', where: MISSPELT },
    SCHEMA.transform(({ amount }) => ({ amuont: amount })),
  ],
])('%s is accepted', (_what, rule, inputSchema) => {
  ai([rule]).defineTool({ ...pay(inputSchema), inputJsonSchema: { type: 'object' } }, () => undefined);
});
