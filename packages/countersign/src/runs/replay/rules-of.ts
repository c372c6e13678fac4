// What the server, the inbox and the command line ask about the rules and policies of an instance.
import { type INTERNALS, internalsOf } from '../../core/internals.ts';
import { defined } from '../../core/json.ts';
import type { OtherRules, PolicyBook } from '../../loop/tool/policy-book.ts';
import type { HistoryOptions } from '../grants/simulate.ts';
import { type Suggestion, suggestions } from '../grants/suggestions.ts';
import type { Store } from '../port/store.ts';
import { type Replayed, type ReplayOptions, replayCalls } from './replay.ts';
import { contentOf, pastRulesOf } from './rules-as-data.ts';
import { listVersions, type RulesContent, type RulesVersion, recordVersion } from './versions.ts';

export type RulesOf = {
  /** Replays the calls of a period under these rules and policies, or under those of the instance. Nothing is recorded. */
  readonly replay: (options: ReplayOptions & OtherRules) => Promise<Replayed>;
  /** The rules and policies of the instance as JSON. */
  readonly content: () => RulesContent;
  /** Records the rules and policies of the instance as a version, unless it is the newest one. `by`: who deployed them. */
  readonly record: (by: string) => Promise<boolean>;
  /** The newest versions of rules and policies, each with its difference. */
  readonly versions: (limit: number) => Promise<readonly RulesVersion[]>;
  /** Grants that the requests since then suggest, with their evidence. */
  readonly suggestions: (since: number, options?: HistoryOptions) => Promise<readonly Suggestion[]>;
};

type Instance = { readonly runs: { readonly store: Store }; readonly [INTERNALS]: { readonly policies: PolicyBook } };

/** The rules and policies of an instance. Only our own packages use it: it can change in any release. */
export function rulesOf(ai: Instance): RulesOf {
  const { policies: book } = internalsOf(ai);
  const store = () => ai.runs.store;
  return {
    replay: async ({ rules, policies, ...options }) => {
      const other = rules || policies ? book.with(defined({ rules, policies })) : book;
      return replayCalls(store(), pastRulesOf(other), (name) => book.toolNamed(name), options);
    },
    content: () => contentOf(book),
    record: (by) => recordVersion(store(), contentOf(book), by),
    versions: (limit) => listVersions(store(), limit),
    suggestions: async (since, options = {}) => suggestions(store(), since, await store().now(), options),
  };
}
