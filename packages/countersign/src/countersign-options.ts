// The options of an instance, their checks, and the settings of the loop that they make.
import { defined, isObject } from './core/json.ts';
import {
  aBoolean,
  aContext,
  aFunction,
  anything,
  aTimerMs,
  aWholeNumber,
  checkOptions,
  type OptionTable,
} from './core/options.ts';
import { type Settings, withDefaults } from './loop/options.ts';
import type { Context, PolicyFor, Rule } from './loop/tool/definition.ts';
import { checkPolicy } from './loop/tool/policies.ts';
import type { PolicyBook } from './loop/tool/policy-book.ts';
import type { ModelInput, Providers } from './models/resolve.ts';
import { DEFAULT_RETRY, type RetryPolicy } from './models/retry.ts';
import { randomId, sleep } from './random-id.ts';
import { checkDrills, type DrillsOptions } from './runs/drills/drill-options.ts';
import type { StartedRun } from './runs/driving/open-run.ts';
import type { FreezesOptions } from './runs/freezes/freezes.ts';
import type { Channel } from './runs/notices/channel.ts';
import type { NotifyOptions } from './runs/notices/notices.ts';
import type { RequestHooks } from './runs/notices/on-request.ts';
import type { People } from './runs/people.ts';
import { checkStore } from './runs/port/check-store.ts';
import type { Store } from './runs/port/store.ts';

/** The options of `countersign`: defaults for everything defined on the instance. */
export type CountersignOptions<C extends Context = Context> = {
  /** An AI SDK provider model, or a name such as `'openai/gpt-5'` that is looked up in `providers`. */
  readonly model?: ModelInput;
  /** AI SDK providers by name. */
  readonly providers?: Providers;
  /** The folder of `.prompt` files that `prompt(name)` reads. */
  readonly promptDir?: string;
  /** The context of calls that pass none. */
  readonly context?: C;
  /** 20 by default. */
  readonly maxTurns?: number;
  /** How a failing model is retried; `false` for never. */
  readonly retry?: Partial<RetryPolicy> | false;
  /** Makes the ids of calls; random by default. Ids must be unique, across processes and restarts too. */
  readonly newId?: () => string;
  /** Where runs live: `memoryStore()`, `sqliteStore(path)` or `postgresStore(url)`. */
  readonly store?: Store;
  /** Looks up the context of a stored run that a worker resumes without a caller. */
  readonly contextFor?: (run: StartedRun) => C | undefined | Promise<C | undefined>;
  /** Drills: workers now and then start a request that must be rejected, to check that people read before they approve. */
  readonly drills?: DrillsOptions;
  /** The channels of notices about requests: mail, Slack, webhooks. Workers of processes that have channels deliver. */
  readonly channels?: readonly Channel[];
  /** The recipients of notices. */
  readonly notify?: NotifyOptions;
  /** The directory of people: roles, managers, delegates. The engine asks it when a person decides a request with a policy. */
  readonly people?: People;
  /** Who may freeze calls, and who may lift a freeze: `{ freeze: Policy, lift: Policy }`; anyone by default. */
  readonly freezes?: FreezesOptions;
  /** Which calls are allowed, ask, or are denied, by tool, agent, label, risk, reversibility and input. All that fit count. */
  readonly rules?: readonly Rule[];
  /**
   * Adds a policy to a request: the name of one, the policy itself, or undefined. It is called once, when the request is made, and again
   * for an edited input. What it returns is recorded and joins the other policies of the request.
   * @example
   * policyFor: ({ tool, input }) => (tool === 'pay' && input.amount > 100 ? { deciders: { roles: ['finance'] } } : undefined)
   */
  readonly policyFor?: PolicyFor;
  /** Each request says where its values came from. By default only those of runs with a tool that has `trust` or `sensitive`, or under a rule with `origin`. */
  readonly origins?: boolean;
  /** How long a worker may be silent before another takes over its runs; 7,500 ms by default. */
  readonly leaseMs?: number;
  /** How long a stop waits for the model's reply; after that the next worker asks again. 10,000 ms by default. */
  readonly graceMs?: number;
  /**
   * How large a stored run may grow: the length of the JSON of its events, 8,388,608 characters unless given. A larger
   * run takes no new messages and no large edits (`run-too-large`). Calls in progress are still recorded, and its open
   * requests can be decided.
   */
  readonly maxRunSize?: number;
  /** How many events a stored run may have before it takes no new messages; 50,000 unless given. */
  readonly maxRunEvents?: number;
  /** The clock in milliseconds, for deadlines and records; the machine's by default. The store's clock takes precedence. */
  readonly clock?: () => number;
};

export function checkCountersignOptions<C extends Context>(options: CountersignOptions<C>): void {
  checkOptions('`countersign`', options, COUNTERSIGN_OPTIONS);
  const { retry = {}, store, drills, notify = {} } = options;
  if (retry !== false) checkOptions('`retry`', retry, RETRY_OPTIONS);
  if (store !== undefined) checkStore(store);
  if (drills !== undefined) checkDrills(drills);
  checkOptions('`notify`', notify, NOTIFY_OPTIONS);
  const { freezes = {}, people } = options;
  checkOptions('`freezes`', freezes, { freeze: anything, lift: anything });
  for (const policy of [freezes.freeze, freezes.lift])
    if (policy !== undefined) checkPolicy('of `freezes`', policy, people?.roles);
}

/** The settings of the loop. `tools`, and the policies and rules of the book, may still grow. */
export function settingsOf<C extends Context>(
  options: CountersignOptions<C>,
  tools: Settings['tools'],
  book: PolicyBook,
): Settings {
  const { model, providers = {}, context, maxTurns = 20, retry = {}, people = {}, policyFor, origins } = options;
  const { newId = randomId, clock = Date.now } = options;
  return {
    ...defined({ model, context }),
    ...{ providers, maxTurns, tools, newId, sleep, clock },
    retry: retry === false ? false : withDefaults(DEFAULT_RETRY, retry),
    random: Math.random,
    policies: {
      named: book.named,
      rules: book.rules,
      defaultDeciders: (run) => book.defaultDeciders?.(run),
      ...defined({ membersOf: people.membersOf, roles: people.roles, policyFor, origins }),
    },
  };
}

const COUNTERSIGN_OPTIONS: OptionTable<CountersignOptions> = {
  model: anything,
  providers: anything,
  promptDir: anything,
  context: aContext,
  maxTurns: aWholeNumber,
  retry: anything,
  newId: aFunction,
  store: anything,
  contextFor: aFunction,
  drills: anything,
  channels: { is: 'an array of channels', fits: Array.isArray },
  notify: anything,
  people: anything,
  freezes: anything,
  policyFor: { ...aFunction, neverUndefined: true },
  // Rules that are undefined may be ones that were not found.
  rules: { is: 'an array of rules', fits: Array.isArray, neverUndefined: true },
  origins: aBoolean,
  leaseMs: aTimerMs,
  graceMs: aTimerMs,
  maxRunSize: aWholeNumber,
  maxRunEvents: aWholeNumber,
  clock: aFunction,
};

const NOTIFY_OPTIONS: OptionTable<NotifyOptions> = {
  everyone: {
    is: 'an array of people, or an object with people and roles',
    fits: (value) => Array.isArray(value) || isObject(value),
  },
};

export const REQUEST_HOOKS: OptionTable<RequestHooks> = {
  opened: aFunction,
  doubt: aFunction,
  reminded: aFunction,
  escalated: aFunction,
  assigned: aFunction,
  commented: aFunction,
  decided: aFunction,
  expired: aFunction,
  withdrawn: aFunction,
  done: aFunction,
  failed: aFunction,
  unknown: aFunction,
  'not-run': aFunction,
};

const RETRY_OPTIONS: OptionTable<RetryPolicy> = {
  attempts: anything,
  initialDelayMs: anything,
  maxDelayMs: anything,
};
