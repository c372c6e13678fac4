// Rules: which calls are allowed, ask, or are denied, as data of the operator.
import { defined, type Json } from '../json.ts';
import type { Origins } from '../origin/origin.ts';
import type { Reversibility } from '../request/request.ts';
import { type Condition, meets } from './condition.ts';

/** Which calls a rule is for. All of it must hold; without anything, it is for every call. */
export type RuleMatch = {
  /** The names of tools; `*` stands for any characters. */
  readonly tool?: string | readonly string[];
  readonly agent?: string;
  /** One of the labels of the tool, or of the request. */
  readonly label?: string;
  readonly risk?: 'low' | 'medium' | 'high';
  readonly reversibility?: Reversibility;
  /** Conditions on the input. */
  readonly where?: readonly Condition[];
};

/** Which calls the rule is for, without what it says about them. */
export function matchOf({ tool, agent, label, risk, reversibility, where }: RuleMatch): RuleMatch {
  return defined({ tool, agent, label, risk, reversibility, where });
}

/**
 * `allow`: the call runs unless something else asks. `ask`: people decide. `deny`: it never runs. `observe`: nothing changes for the call,
 * and if it runs unasked, the record says whom the rule would have asked.
 */
export type Then = 'allow' | 'ask' | 'deny' | 'observe';

/** What rules go by. */
export type CallFacts = {
  readonly tool: string;
  readonly agent: string | null;
  readonly input: Json;
  /** Where its values came from; absent where that was not searched. */
  readonly origins?: Origins | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly risk?: RuleMatch['risk'] | undefined;
  readonly reversibility?: Reversibility | undefined;
  /** A caller outside has said its labels, risk and reversibility, and nobody has verified them. */
  readonly isDescribed?: boolean;
};

/**
 * What the rule says about the call; undefined if it is not for it. Where that cannot be known, because a field is missing or only the
 * caller says what kind of call it is, a rule that allows says nothing, one that asks asks, one that denies asks at least, and one that
 * observes observes.
 */
export function ruleSays(rule: RuleMatch, then: Then, call: CallFacts): Then | undefined {
  const { tool = '*', agent, where = [] } = rule;
  if (![tool].flat().some((pattern) => isLike(pattern, call.tool))) return undefined;
  if (agent !== undefined && agent !== call.agent) return undefined;
  const isMet = meets(where, call.input, call.origins);
  if (isMet === false || (then === 'allow' && isMet === undefined)) return undefined;
  const goesByKind = [rule.label, rule.risk, rule.reversibility].some((kind) => kind !== undefined);
  const isOfKind = hasKind(rule, call);
  if (!goesByKind || !call.isDescribed) return isOfKind ? then : undefined;
  if (then === 'allow') return undefined;
  return isOfKind || then === 'observe' ? then : 'ask';
}

export const forTool = ({ tool = '*' }: RuleMatch, name: string): boolean =>
  [tool].flat().some((pattern) => isLike(pattern, name));

export const goesByOrigin = ({ where = [] }: RuleMatch): boolean => where.some(({ origin }) => origin !== undefined);

function hasKind({ label, risk, reversibility }: RuleMatch, call: CallFacts): boolean {
  return (
    (label === undefined || call.labels?.includes(label) === true) &&
    (risk === undefined || risk === call.risk) &&
    (reversibility === undefined || reversibility === call.reversibility)
  );
}

/** The text is like the pattern, in which `*` stands for any characters. */
export function isLike(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  if (!text.startsWith(first)) return false;
  const last = rest.pop() ?? '';
  let from = first.length;
  for (const piece of rest) {
    const at = text.indexOf(piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return text.length - last.length >= from && text.endsWith(last);
}
