// What rules, policies, conditions and grants look like, as schemas: one each, for the engine, the server and the command line.
// The only file of the core that imports a package; screens import types of it alone, so browsers do not load zod.
import { z } from 'zod';
import { toJson } from '../json.ts';
import { shown } from '../options.ts';
import { ORIGINS } from '../origin/origin.ts';
import { isAmount, MOST_USES } from './grants/grant-maximum.ts';

/** More votes than this are a mistake. */
const MOST_VOTES = 100;

/** The message for a value that does not fit, without its name, which is the path of the issue. */
const must = (wanted: string) => ({
  error: ({ input }: { readonly input?: unknown }) => `must be ${wanted}, not ${shown(input)}`,
});

/** An object without other fields: one of a later release may be a requirement that this one would miss. */
function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape, example: string) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `has no ${issue.keys.join(', ')}; it has ${Object.keys((issue.inst as z.ZodObject).shape).join(', ')}`
        : `must be ${example}, not ${shown(issue.input)}`,
  });
}

/** Made at the first use: most programs have no policies, and zod takes longer for these than for all of an import. */
export function authoritySchemas() {
  built ??= build();
  return built;
}

let built: ReturnType<typeof build> | undefined;

function build() {
  const wholeNumberTo = (most: number) => {
    const wanted = must(`a whole number from 1 to ${most}`);
    return z.int(wanted).min(1, wanted).max(most, wanted);
  };
  const time = z.int(must('a time in whole milliseconds'));
  const aName = must('a name');
  const name = z.string(aName).min(1, aName);
  const names = z.array(name, must('a list of names'));
  const someNames = names.min(1, must('a list of names'));
  const limit = z.number(must('a number')).optional();
  const json = z.any().refine((value) => value === undefined || toJson(value).ok, must('JSON'));
  const onlyTrue = z.literal(true, must('true, or left out')).optional();

  const anAmount = must('a number from 0');
  const amount = z.number(anAmount).min(0, anAmount).refine(isAmount, anAmount);

  const aPath = must('a name, or a path of names');
  const FieldSchema = z.union([name, z.array(name).min(1, aPath)], aPath);

  const LIMITS = ['equals', 'oneOf', 'above', 'atLeast', 'below', 'atMost', 'origin'] as const;

  const ConditionSchema = fields(
    {
      field: FieldSchema,
      equals: json.optional(),
      oneOf: z.array(json, must('a list with values')).min(1, must('a list with values')).optional(),
      above: limit,
      atLeast: limit,
      below: limit,
      atMost: limit,
      origin: z.enum(ORIGINS, must(`one of ${ORIGINS.join(', ')}`)).optional(),
    },
    'an object such as { field: "amount", above: 10000 }',
  ).refine((condition) => LIMITS.some((name) => condition[name] !== undefined), {
    error: `has no limit; give one of ${LIMITS.join(', ')}`,
  });

  const conditions = z.array(ConditionSchema, must('a list of conditions'));

  /** Votes are counted later, also of an edited input. A rule with a policy goes by the origin. */
  const withoutOrigin = conditions.refine((all) => all.every(({ origin }) => origin === undefined), {
    error: 'goes by `origin`, which only rules and grants can: give a rule with `where` and a policy',
  });

  const WhoSchema = fields({ people: names.optional(), roles: names.optional() }, 'an object with `people` or `roles`');

  const GroupSchema = fields(
    { of: WhoSchema, count: wholeNumberTo(MOST_VOTES), when: withoutOrigin.optional() },
    'an object such as { of: { roles: ["finance"] }, count: 2 }',
  );

  const GrantMaximumSchema = fields(
    {
      uses: wholeNumberTo(MOST_USES),
      field: FieldSchema.optional(),
      each: amount.optional(),
      total: amount.optional(),
      expiresWithin: time.min(1, must('a time in whole milliseconds')),
    },
    'false, or an object such as { uses: 10, expiresWithin: 604800000 }',
  ).refine(({ field, each, total }) => field !== undefined || (each === undefined && total === undefined), {
    error: 'limits `each` or `total`, which need `field`',
  });

  const PolicySchema = fields(
    {
      name: z.string(aName).optional(),
      deciders: WhoSchema.optional(),
      notRequester: onlyTrue,
      quorum: z.array(GroupSchema, must('a list of groups')).optional(),
      veto: z.enum(['any', 'majority'], must('"any" or "majority"')).optional(),
      signed: z.literal('passkey', must('"passkey"')).optional(),
      delegates: onlyTrue,
      grants: z
        .union([z.literal(false), GrantMaximumSchema], {
          error: ({ errors }) =>
            errors
              .at(-1)
              ?.map((issue) =>
                issue.path[0] ? `must be false or a maximum: ${problemText(issue, '')}` : issue.message,
              )[0],
        })
        .optional(),
      validFor: z.int(must('a duration, such as "2h"')).min(1, must('a duration, such as "2h"')).optional(),
      onExpiry: z.literal('approve', must('"approve", or left out')).optional(),
      recallFor: time.min(0, must('a time in whole milliseconds')).optional(),
      warnings: z.array(z.string(), must('a list of texts')).optional(),
    },
    'an object',
  );

  /** The limits of a grant that say for which calls it is. */
  const GrantRequestSchema = fields(
    {
      where: conditions.optional(),
      schema: z.record(z.string(), z.unknown(), must('a JSON Schema')).optional(),
      serves: fields(
        { people: someNames.optional(), agents: someNames.optional() },
        'an object with `people` or `agents`',
      )
        .refine(
          ({ people, agents }) => people !== undefined || agents !== undefined,
          must('an object with `people` or `agents`'),
        )
        .optional(),
      uses: wholeNumberTo(MOST_USES),
      budget: fields(
        { field: FieldSchema, total: amount },
        'an object such as { field: "amount", total: 2000 }',
      ).optional(),
      expiresAt: time,
    },
    'an object such as { where, uses: 10, expiresAt }',
  );

  const LimitSchema = fields(
    {
      calls: wholeNumberTo(MOST_USES).optional(),
      sum: FieldSchema.optional(),
      most: amount.optional(),
      per: z.union([z.number(), z.string()], must('a duration, such as "1h"')),
      each: z.enum(['tool', 'agent', 'person'], must('one of tool, agent, person')).optional(),
    },
    'an object such as { calls: 20, per: "1h" }',
  )
    .refine(({ sum, most }) => (sum === undefined) === (most === undefined), {
      error: 'needs `sum` and `most` together, such as { sum: "amount", most: 5000, per: "1d" }',
    })
    .refine(({ calls, sum }) => calls !== undefined || sum !== undefined, {
      error: 'limits nothing; give `calls`, or `sum` and `most`',
    });

  /** An undefined field may be one that was not found. Left out, the rule would be for other calls than intended. */
  const RuleSchema = fields(
    {
      tool: z.exactOptional(z.union([name, someNames], must('the name of a tool, or a list of names'))),
      agent: z.exactOptional(name),
      label: z.exactOptional(name),
      risk: z.exactOptional(z.enum(['low', 'medium', 'high'], must('one of low, medium, high'))),
      reversibility: z.exactOptional(
        z.enum(['read-only', 'reversible', 'irreversible'], must('one of read-only, reversible, irreversible')),
      ),
      where: z.exactOptional(conditions),
      then: z.exactOptional(
        z.enum(['allow', 'ask', 'deny', 'observe', 'freeze'], must('one of allow, ask, deny, observe, freeze')),
      ),
      limit: z.exactOptional(LimitSchema),
      policy: z.exactOptional(
        z.union([z.string(), z.record(z.string(), z.any())], must('the name of a policy, or a policy')),
      ),
      reason: z.exactOptional(z.string(must('a text'))),
    },
    'an object such as { tool: "pay", then: "ask" }',
  );
  return {
    WhoSchema,
    ConditionSchema,
    GroupSchema,
    PolicySchema,
    GrantMaximumSchema,
    GrantRequestSchema,
    RuleSchema,
  };
}

/** Says which part of the value does not fit the schema, and what is allowed there; undefined if it fits. `whole` names the value. */
export function shapeProblem(schema: z.ZodType, value: unknown, whole = 'it'): string | undefined {
  const issue = schema.safeParse(value).error?.issues[0];
  return issue && problemText(issue, whole);
}

const problemText = ({ path, message }: z.core.$ZodIssue, whole: string): string =>
  `${path.length === 0 ? whole : `\`${pathText(path)}\``} ${message}`;

/** Such as `quorum[0].count`. */
const pathText = (path: readonly PropertyKey[]): string =>
  path.map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index > 0 ? '.' : ''}${String(key)}`)).join('');
