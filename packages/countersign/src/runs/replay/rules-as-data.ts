// The rules and policies of an instance as data, for judging calls of the past and for the record of their versions.
import type { PastRule, PastRules } from '../../core/authority/judge-again.ts';
import { isObject } from '../../core/json.ts';
import { timed } from '../../loop/call/judging/judge.ts';
import type { PolicyConfig } from '../../loop/tool/definition.ts';
import { dataOf, type Policies } from '../../loop/tool/policies.ts';
import type { RulesContent } from './versions.ts';

type Book = Pick<Policies, 'rules' | 'named'>;

/** Without the deciders that a function names: the record of each call has those. */
export function pastRulesOf({ rules, named }: Book): PastRules {
  const known = new Map([...named].map(([name, config]) => [name, policyOf(config, name)]));
  return {
    // No replay counts calls. What a limit has said is in the record of the call.
    rules: rules.flatMap(({ policy, limit, then = 'ask', ...rule }): PastRule | readonly PastRule[] => {
      if (limit || then === 'freeze') return [];
      const found = typeof policy === 'string' ? known.get(policy) : isObject(policy) ? policyOf(policy) : undefined;
      return { ...rule, then, ...found };
    }),
    named: known,
  };
}

function policyOf(config: PolicyConfig, name?: string): Pick<Required<PastRule>, 'policy'> & Pick<PastRule, 'isCode'> {
  const { deciders, review: _code, ...rest } = config;
  const { policy, waits } = dataOf(rest);
  const data = timed({ ...(name !== undefined && { name }), ...policy }, waits);
  if (typeof deciders === 'function') return { policy: data, isCode: true };
  return { policy: { ...data, ...(deciders && { deciders }) } };
}

/** As JSON. A function is shown by its name only. */
export function contentOf({ rules, named }: Book): RulesContent {
  const byName = [...named].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const content = { rules, policies: Object.fromEntries(byName) };
  return JSON.parse(JSON.stringify(content, (_key, part) => (typeof part === 'function' ? nameOf(part) : part)));
}

const nameOf = (code: { readonly name: string }): string => `a function: ${code.name || 'without a name'}`;
