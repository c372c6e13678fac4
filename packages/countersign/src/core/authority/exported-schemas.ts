// The schemas of rules, policies, conditions and grants, for servers and tools.
import { authoritySchemas } from './schemas.ts';

export const {
  WhoSchema,
  ConditionSchema,
  GroupSchema,
  PolicySchema,
  GrantMaximumSchema,
  GrantRequestSchema,
  RuleSchema,
} = authoritySchemas();
