// The schemas and the types say the same: a field that one of them has alone does not compile.
import type { GrantRequest, Rule, z } from 'countersign';
import type { Condition, GrantMaximum, Group, Policy, Who } from 'countersign/request';
import type {
  ConditionSchema,
  GrantMaximumSchema,
  GrantRequestSchema,
  GroupSchema,
  PolicySchema,
  RuleSchema,
  WhoSchema,
} from 'countersign/store';
import { expectTypeOf } from 'vitest';

/** Without `readonly`, without undefined in optional fields, and with `any` for JSON. */
type Plain<T> = 0 extends 1 & T
  ? any
  : T extends readonly (infer Item)[]
    ? Plain<Item>[]
    : T extends object
      ? { -readonly [Field in keyof T]: Field extends Loose ? any : Plain<Exclude<T[Field], undefined>> }
      : T;
/** JSON, and what code checks: the policy of a rule has durations and functions. */
type Loose = 'equals' | 'oneOf' | 'schema' | 'policy' | 'per';

expectTypeOf<Plain<z.infer<typeof WhoSchema>>>().toEqualTypeOf<Plain<Who>>();
expectTypeOf<Plain<z.infer<typeof ConditionSchema>>>().toEqualTypeOf<Plain<Condition>>();
expectTypeOf<Plain<z.infer<typeof GroupSchema>>>().toEqualTypeOf<Plain<Group>>();
expectTypeOf<Plain<z.infer<typeof PolicySchema>>>().toEqualTypeOf<Plain<Policy>>();
expectTypeOf<Plain<z.infer<typeof GrantMaximumSchema>>>().toEqualTypeOf<Plain<GrantMaximum>>();
expectTypeOf<Plain<z.infer<typeof GrantRequestSchema>>>().toEqualTypeOf<Plain<GrantRequest>>();
expectTypeOf<Plain<z.infer<typeof RuleSchema>>>().toEqualTypeOf<Plain<Rule>>();
