// The versions of the rules and policies that processes applied: who deployed each, when, and what it changed.
import { isObject, type Json, type JsonObject, sameJson } from '../../core/json.ts';
import { shortHash } from '../port/chain.ts';
import type { Note } from '../port/notes.ts';
import type { Store } from '../port/store.ts';

/** Rules and policies as JSON; a function in them is its name. */
export type RulesContent = { readonly rules: readonly Json[]; readonly policies: JsonObject };

/** One version, and what it changed. `changed`: policies by name, before and after. */
export type RulesVersion = RulesContent & {
  readonly number: number;
  readonly digest: string;
  readonly by: string;
  readonly at: number;
  readonly difference: {
    readonly added: RulesContent;
    readonly removed: RulesContent;
    readonly changed: { readonly [policy: string]: { readonly before: Json; readonly after: Json } };
  };
};

const COLLECTION = 'rules-versions';
/** Notes are listed by their keys, and the newest version comes first. */
const keyOf = (number: number): string => String(10 ** 9 - number);
const NOTHING: RulesContent = { rules: [], policies: {} };

/** Records the version unless it is the newest one already. Two processes that start at once record it once. */
export async function recordVersion(store: Store, content: RulesContent, by: string): Promise<boolean> {
  const { notes } = store;
  const digest = shortHash(JSON.stringify(content));
  for (;;) {
    const [newest] = (await notes.list(COLLECTION, { limit: 1 })).items;
    const last = newest && versionIn(newest);
    if (last ? last.digest === digest : sameJson(content as unknown as Json, NOTHING as unknown as Json)) return false;
    const number = (last?.number ?? 0) + 1;
    const version = { number, digest, by, at: await store.now(), ...content };
    if (await notes.put(COLLECTION, keyOf(number), version as unknown as Json, { version: 0 })) return true;
  }
}

/** The newest versions first, each with its difference to the one before. */
export async function listVersions({ notes }: Store, limit: number): Promise<readonly RulesVersion[]> {
  const { items } = await notes.list(COLLECTION, { limit: limit + 1 });
  const versions = items.map(versionIn);
  return versions.slice(0, limit).map((version, index) => ({
    ...version,
    difference: differenceOf(versions[index + 1] ?? NOTHING, version),
  }));
}

const versionIn = ({ value }: Note): Omit<RulesVersion, 'difference'> =>
  (isObject(value) ? value : {}) as unknown as Omit<RulesVersion, 'difference'>;

function differenceOf(before: RulesContent, after: RulesContent): RulesVersion['difference'] {
  const changed = Object.entries(after.policies).flatMap(([name, policy]) => {
    const earlier = before.policies[name];
    return earlier === undefined || sameJson(earlier, policy) ? [] : [[name, { before: earlier, after: policy }]];
  });
  return { added: without(after, before), removed: without(before, after), changed: Object.fromEntries(changed) };
}

/** The rules and names of policies that the other does not have. */
function without({ rules, policies }: RulesContent, other: RulesContent): RulesContent {
  return {
    rules: rules.filter((rule) => !other.rules.some((known) => sameJson(known, rule))),
    policies: Object.fromEntries(Object.entries(policies).filter(([name]) => !Object.hasOwn(other.policies, name))),
  };
}
