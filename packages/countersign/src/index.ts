// The front door: what authors of applications use. Authors of a store use `countersign/store`.
export { z } from 'zod';
export { type Condition, meets } from './core/authority/condition.ts';
export type { Grant, GrantRequest, GrantStatus, GrantUse, Serves } from './core/authority/grant.ts';
export type { GrantMaximum } from './core/authority/grant-maximum.ts';
export type { Group, Policies, Policy, Vote, Who } from './core/authority/policy.ts';
export type { Missing } from './core/authority/tally.ts';
export {
  ConflictError,
  CountersignError,
  type ErrorCode,
  InvariantError,
  NotPerformed,
  OutcomeUnknown,
  ProviderError,
  UsageError,
} from './core/errors.ts';
export type { Json } from './core/json.ts';
export type { Message, Metadata, Part, ToolRequestPart, ToolResponsePart } from './core/messages/message.ts';
export type { NoticeType } from './core/request/notice.ts';
export type { Resume } from './core/run/decide.ts';
export type { Decision, FinishReason, InterruptKind, Preview, Reversibility, RunEvent } from './core/run/event.ts';
export type { Usage } from './core/run/usage.ts';
export { Countersign, countersign } from './countersign.ts';
export type { CountersignOptions } from './countersign-options.ts';
export type { Agent, AgentConfig } from './loop/agent.ts';
export type { Chat } from './loop/chat.ts';
export type { GenerateStream } from './loop/generate.ts';
export type { GenerateOptions } from './loop/options.ts';
export type { GenerateResponse } from './loop/response.ts';
export type { Chunk } from './loop/stream/chunk.ts';
export { approve, cancel, reject, respond, restart, toolResponse } from './loop/tool/decisions.ts';
export type {
  Approval,
  Context,
  InterruptConfig,
  PolicyConfig,
  PolicyFor,
  PolicyRequest,
  Rule,
  Tool,
  ToolConfig,
  ToolContext,
} from './loop/tool/definition.ts';
export type { Duration } from './loop/tool/duration.ts';
export type { SchemaInput } from './loop/tool/schema.ts';
export { type AskOptions, type InterruptOptions, InterruptSignal } from './loop/tool/signal.ts';
export type { BusinessHours, EscalationRule, TimeOptions } from './loop/tool/time-options.ts';
export { interrupt, tool } from './loop/tool/tool.ts';
export type { ToolInput } from './loop/tool/toolbox.ts';
export type { JsonSchema, Model, ModelChunk, ModelReply, ModelRequest } from './models/model.ts';
export type { ModelInput, Providers } from './models/resolve.ts';
export type { Prompt } from './prompts/callable.ts';
export type { DrillOptions, DrillRequest, DrillsOptions } from './runs/drills/drill-options.ts';
export type { StartedRun } from './runs/driving/open-run.ts';
export type { Stopped } from './runs/driving/record-late-result.ts';
export type { OnEscalation, OnReminder } from './runs/driving/reminders.ts';
export type { Worker, WorkerOptions } from './runs/driving/worker.ts';
export { type Evidence, type EvidenceQuestion, evidenceText } from './runs/evidence/evidence.ts';
export type { EvidenceGrant } from './runs/evidence/grant-uses.ts';
export type { EvidenceProblem, ReplayedQuestion, ReplayedVote } from './runs/evidence/replay.ts';
export { type VerifiedEvidence, verifyEvidence } from './runs/evidence/verify-evidence.ts';
export type { ToolDescription } from './runs/gates/described-tool.ts';
export {
  type Gate,
  type GateBody,
  type GateCallId,
  type GateOptions,
  type GateReport,
  type GateRequestOptions,
  type GateResult,
  type GateStartOptions,
  type GateWaitOptions,
  type GrantedStart,
  gateText,
} from './runs/gates/gate.ts';
export type { Giver } from './runs/grants/give.ts';
export type { GrantListOptions, Grants, RevokeOptions } from './runs/grants/grants.ts';
export type { GrantSimulation, GrantSuggestion, HistoryOptions, SimulatedGrant } from './runs/grants/simulate.ts';
export type { GivenGrant, GrantDetails, GrantView } from './runs/grants/view.ts';
export type {
  Channel,
  Contact,
  Delivering,
  Notice,
  NoticeLinks,
  Reason,
  Recipient,
} from './runs/notices/channel.ts';
export type { NoticeHost } from './runs/notices/compose.ts';
export type { DeadLetter } from './runs/notices/dead-letters.ts';
export type { Delivery } from './runs/notices/delivery-log.ts';
export type { ChannelStatus, DeliveryListOptions, Notices, NotifyOptions } from './runs/notices/notices.ts';
export type { RequestHooks } from './runs/notices/on-request.ts';
export type { NoticePreferences } from './runs/notices/preferences.ts';
export { type Passkey, Passkeys } from './runs/passkeys/passkeys.ts';
export { type PasskeySignature, type SignedDecision, signingChallenge } from './runs/passkeys/signature.ts';
export type { People } from './runs/people.ts';
export type { Store } from './runs/port/store.ts';
export type { Absence, Absences, AbsentOptions } from './runs/requests/absences.ts';
export type { AssignOptions } from './runs/requests/assigning.ts';
export type { DecideResult } from './runs/requests/deciding.ts';
export type { DecisionInput } from './runs/requests/decision.ts';
export type { VotingProgress } from './runs/requests/progress.ts';
export type { Decided } from './runs/requests/settled.ts';
export type { ListedRun, RunInterrupt, RunView } from './runs/requests/view.ts';
export type { DecideOptions, InterruptListOptions, RunListOptions } from './runs/run-options.ts';
export type { Runs } from './runs/runs.ts';
export { memoryStore } from './stores/memory/memory.ts';
