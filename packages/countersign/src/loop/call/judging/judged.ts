// What a call is judged by, and what its sources find.
import type { CallRule, CallSays } from '../../../core/authority/may-run.ts';
import type { Policies } from '../../../core/authority/policy.ts';
import type { Json } from '../../../core/json.ts';
import type { Review } from '../../../core/request/request.ts';
import type { WaitOptions } from '../../tool/ask-options.ts';
import type { Approval, ApprovalContext, ToolDefinition } from '../../tool/definition.ts';
import type { LazyOrigins } from '../origins.ts';

/** A call as its sources see it. `input` is as the tool's schema parsed it, `json` as it would be recorded. */
export type Judging = {
  readonly tool: ToolDefinition;
  readonly input: unknown;
  readonly json: Json;
  readonly ctx: ApprovalContext;
  readonly requesters: readonly string[];
  /** Absent where nothing can be searched. */
  readonly origins?: LazyOrigins | undefined;
};

/** Who must decide a request, and how each source lets it wait. */
export type Governed = {
  readonly policies: Policies;
  /** The place of the policy of each source; -1 if it has none of its own. */
  readonly waits: readonly { readonly wait: WaitOptions; readonly policy: number }[];
  /** What the reviewers of its policies say. */
  readonly reviews?: readonly Review[];
};

/** `says`: for the record, where a rule had a say. */
export type Judged = { readonly says?: CallSays } & JudgedAs;

type JudgedAs =
  /** `rule`: the one that lets the call run, where its tool would ask. `observed`: whom a rule would have asked, and what each such rule says. */
  | {
      readonly then: 'run';
      readonly rule?: CallRule;
      readonly observed?: { readonly policies: Policies; readonly why: readonly string[] };
    }
  | { readonly then: 'deny'; readonly why: string }
  /** `approval`: what the tool wants shown. `failure`: why its gate could not say who decides. */
  | {
      readonly then: 'ask';
      readonly approval: Omit<Approval, 'policy'> | true;
      readonly governed: Governed;
      readonly failure?: string;
    };
