// The front door: everything public that is not for tests.
export { z } from 'zod';
export type { DecisionPart, Resume } from './core/decide.ts';
export {
  ConflictError,
  CountersignError,
  type ErrorCode,
  type ErrorDetails,
  InvariantError,
  NotPerformed,
  ProviderError,
  UsageError,
} from './core/errors.ts';
export type { Decision, FinishReason, InterruptKind, RunEvent } from './core/event.ts';
export type { Json, JsonObject } from './core/json.ts';
export type {
  DataPart,
  MediaPart,
  Message,
  Metadata,
  Part,
  ReasoningPart,
  Role,
  TextPart,
  ToolRequestPart,
  ToolResponsePart,
} from './core/message.ts';
export { Countersign, type CountersignOptions, countersign } from './countersign.ts';
export type { Agent, AgentConfig, StartInput, StartOptions } from './loop/agent.ts';
export { Chat, type ChatOptions, type SendOptions } from './loop/chat.ts';
export type { GenerateStream } from './loop/generate.ts';
export type { Content, GenerateOptions } from './loop/options.ts';
export { GenerateResponse } from './loop/response.ts';
export type { Chunk } from './loop/stream/chunk.ts';
export {
  approve,
  cancel,
  type DecisionOptions,
  reject,
  respond,
  restart,
  toolResponse,
} from './loop/tool/decisions.ts';
export type {
  Approval,
  ApprovalContext,
  Context,
  DirectCallOptions,
  InterruptConfig,
  Tool,
  ToolBody,
  ToolConfig,
  ToolContext,
  Verified,
} from './loop/tool/definition.ts';
export type { InferInput, InferOutput, SchemaInput, StandardSchema } from './loop/tool/schema.ts';
export { type AskOptions, type InterruptFunction, InterruptSignal } from './loop/tool/signal.ts';
export { interrupt, tool } from './loop/tool/tool.ts';
export type { ToolInput } from './loop/tool/toolbox.ts';
export type { AiSdkModel } from './models/ai-sdk.ts';
export type {
  JsonSchema,
  Model,
  ModelChunk,
  ModelConfig,
  ModelReply,
  ModelRequest,
  ToolChoice,
  ToolSpec,
  Usage,
} from './models/model.ts';
export type { AiSdkProvider, ModelInput, Providers } from './models/resolve.ts';
export type { RetryPolicy } from './models/retry.ts';
export type { Prompt, PromptCallOptions, PromptConfig } from './prompts/callable.ts';
export type { PromptTemplate } from './prompts/definition.ts';
export type { AppendListener } from './runs/driving/appends.ts';
export type { DriveOptions } from './runs/driving/driving.ts';
export type { Stopped, UnrecordedCall } from './runs/driving/record-late-result.ts';
export type { OnReminder, Reminder } from './runs/driving/reminders.ts';
export type { Rest } from './runs/driving/run-summary.ts';
export type { StartedRun } from './runs/driving/take-over.ts';
export type { Worker, WorkerOptions } from './runs/driving/worker.ts';
export type { Note, Notes, PutOptions } from './runs/port/notes.ts';
export type { DayStats, SettledCounts, Stats, StatsOptions, StatsQuery, ToolStats } from './runs/port/stats.ts';
export type {
  Append,
  Appended,
  ClaimHow,
  InterruptOutcome,
  InterruptQuery,
  InterruptRecord,
  LoadedRun,
  NewInterrupt,
  NewRun,
  Page,
  ReadOptions,
  Risk,
  RunCounts,
  RunQuery,
  RunRecord,
  RunStatus,
  SettledInterrupt,
  Store,
  StoredEvent,
  TakenReminder,
} from './runs/port/store.ts';
export type { DecisionInput, Settlement, Withdrawal } from './runs/questions/decision.ts';
export type { ProposedDecision } from './runs/questions/policy.ts';
export type { Decided } from './runs/questions/settled.ts';
export type { RunInterrupt, RunView } from './runs/questions/view.ts';
export type {
  CancelOptions,
  DecideOptions,
  FollowOptions,
  InterruptListOptions,
  RunListOptions,
  WaitOptions,
} from './runs/run-options.ts';
export type { Runs } from './runs/runs.ts';
export { memoryStore } from './stores/memory/memory.ts';
