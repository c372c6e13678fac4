// The door for authors of a store, and of servers that read one: the port, the records in it, and the rules that all stores share.

export type { Deciders } from './core/authority/deciders.ts';
export {
  ConditionSchema,
  GrantMaximumSchema,
  GrantRequestSchema,
  GroupSchema,
  PolicySchema,
  RuleSchema,
  WhoSchema,
} from './core/authority/exported-schemas.ts';
export { type CallRule, type MayRun, mayRun } from './core/authority/may-run.ts';
export { type CallFacts, isLike, ruleSays, type Then } from './core/authority/rule.ts';
export { shapeProblem } from './core/authority/schemas.ts';
export { internalsOf } from './core/internals.ts';
export { faultInJson, folded, type JsonTextFault, type JsonTextLimits } from './core/json-text.ts';
export { type ApprovedCall, remarksOn } from './core/request/remarks.ts';
export { shownAgent } from './core/run/drill.ts';
export type { DrillRequest } from './runs/drills/drill-options.ts';
export type { StartedRun } from './runs/driving/open-run.ts';
export type { Stopped } from './runs/driving/record-late-result.ts';
export type { Worker, WorkerOptions } from './runs/driving/worker.ts';
export type { EvidenceRequest } from './runs/evidence/evidence.ts';
export type { EvidenceProblem } from './runs/evidence/replay.ts';
export type { VerifiedEvidence } from './runs/evidence/verify-evidence.ts';
export type {
  FreezeActor,
  FreezeRequest,
  Freezes,
  FreezesOptions,
  FreezeView,
  MadeFreeze,
} from './runs/freezes/freezes.ts';
export type { RunningCall } from './runs/freezes/thaw.ts';
export type { GateReport } from './runs/gates/gate.ts';
export type { GrantListOptions } from './runs/grants/grants.ts';
export type { PlannedStep, PlanProgress } from './runs/grants/plans.ts';
export type { GrantSimulation, SimulatedGrant } from './runs/grants/simulate.ts';
export type { Suggestion } from './runs/grants/suggestions.ts';
export type { GrantDetails, GrantView } from './runs/grants/view.ts';
export type { Contact, PersonNews, Reason, Recipient } from './runs/notices/channel.ts';
export type { NoticePreferences } from './runs/notices/preferences.ts';
export { type Passkey, Passkeys } from './runs/passkeys/passkeys.ts';
export { absenceChallenge, signingChallenge } from './runs/passkeys/signature.ts';
export { SIGNED_IN } from './runs/people.ts';
export type { Note, Notes, PutOptions } from './runs/port/notes.ts';
export { FULL_PAGE_SIZE, MOST_PAGE_EVENTS } from './runs/port/page.ts';
export type { DayStats, SettledCounts, Stats, StatsQuery, ToolStats } from './runs/port/stats.ts';
export type {
  AgentQueue,
  Append,
  Appended,
  ClaimHow,
  LoadedRun,
  NewRequest,
  NewRun,
  Page,
  ProgressedRequest,
  Projection,
  ReadOptions,
  RequestOutcome,
  RequestQuery,
  RequestRecord,
  Risk,
  RunCounts,
  RunQuery,
  RunRecord,
  RunStatus,
  SettledRequest,
  Store,
  StoredEvent,
  UntoldRequest,
} from './runs/port/store.ts';
export { FREEZES } from './runs/port/store.ts';
export { refuseRemoved } from './runs/removals.ts';
export type { Replayed, ReplayedCalls } from './runs/replay/replay.ts';
export { rulesOf } from './runs/replay/rules-of.ts';
export type { RulesContent, RulesVersion } from './runs/replay/versions.ts';
export type { ListedRun } from './runs/requests/view.ts';
export type { RequestListOptions, RunListOptions } from './runs/run-options.ts';
export type { Undoing, UndoStep } from './runs/undo/undoing.ts';
export { type Claim, claimAfter, mayTake, takeClaim } from './stores/rules/claim.ts';
export { createNotes, type NewNote, type NoteRow, type NoteRows } from './stores/rules/notes.ts';
export { readEventLimit } from './stores/rules/page.ts';
export { checkAppend, isStorable, refusalOf, type Stored } from './stores/rules/refusals.ts';
