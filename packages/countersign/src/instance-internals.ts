// What our own server and adapters use of an instance, beside its public members.
import type { PolicyBook } from './loop/tool/policy-book.ts';
import type { ModelInput } from './models/resolve.ts';
import type { Appends } from './runs/driving/appends.ts';
import type { Gates } from './runs/gates/gates.ts';
import type { observeCall } from './runs/gates/observe.ts';
import type { GrantView } from './runs/grants/view.ts';
import type { KnownPerson } from './runs/people.ts';
import type { RunRequest } from './runs/requests/view.ts';

type Observing = Parameters<typeof observeCall> extends [unknown, ...infer Rest] ? Rest : never;

export type InstanceInternals = {
  readonly policies: PolicyBook;
  /** The runs of one call each, by the name of their agent. */
  readonly callGate: Gates['named'];
  /**
   * Calls the listener with everything that this process appends to stored runs, and the run, once it is durable. An append with an
   * unknown outcome, because the store disconnected, may be left out. Returns a function that stops it.
   */
  readonly onAppend: Appends['listen'];
  /** Records a call that its caller runs unasked, if rules observe it; the gate has this name. */
  readonly observeCall: (gate: string, ...call: Observing) => Promise<boolean>;
  /** The people whom this id or mail address may mean. */
  readonly peopleCalled: (name: string) => Promise<readonly KnownPerson[]>;
  /** The id that the grant of this request has, if one was given with its decision. */
  readonly grantIdOf: (request: Pick<RunRequest, 'id' | 'createdAt'>) => string;
  /** The grants with these ids, without those that do not exist. */
  readonly grantsNamed: (ids: readonly string[]) => Promise<readonly GrantView[]>;
  /** Sets the model of agents and calls that have none, if `countersign()` was given none. Returns whether an agent uses it. */
  readonly useDefaultModel: (model: ModelInput) => boolean;
};
