// The front door: what authors of applications write. Types of records are at `countersign/store`, of screens at `countersign/request`.
export { z } from 'zod';
export type { GrantRequest } from './core/authority/grants/grant.ts';
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
export type { Message, Part, ToolRequestPart, ToolResponsePart } from './core/messages/message.ts';
export { money } from './core/request/money.ts';
export type { RunEvent } from './core/run/event.ts';
export type { Resume } from './core/run/read-resume.ts';
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
  PolicyHandle,
  PolicyRequest,
  Rule,
  Tool,
  ToolConfig,
  ToolContext,
} from './loop/tool/definition.ts';
export { type AskOptions, InterruptSignal } from './loop/tool/signal.ts';
export { interrupt, tool } from './loop/tool/tool.ts';
export type { JsonSchema, Model, ModelChunk, ModelReply, ModelRequest } from './models/model.ts';
export type { ModelInput, Providers } from './models/resolve.ts';
export type { Prompt } from './prompts/callable.ts';
export type { Absences } from './runs/absences.ts';
export { type Evidence, evidenceText } from './runs/evidence/evidence.ts';
export { verifyEvidence } from './runs/evidence/verify-evidence.ts';
export type { ToolDescription } from './runs/gates/described-tool.ts';
export type { Gate } from './runs/gates/gate.ts';
export { type GateResult, gateText } from './runs/gates/gate-result.ts';
export type { Grants } from './runs/grants/grants.ts';
export type { Channel, Notice } from './runs/notices/channel.ts';
export type { Notices } from './runs/notices/notices.ts';
export type { People } from './runs/people.ts';
export type { Store } from './runs/port/store.ts';
export type { DecideResult } from './runs/requests/deciding.ts';
export type { DecisionInput } from './runs/requests/decision.ts';
export type { RunRequest, RunView } from './runs/requests/view.ts';
export type { DecideOptions } from './runs/run-options.ts';
export type { Runs } from './runs/runs.ts';
export { memoryStore } from './stores/memory/memory.ts';
