// The entry point `@countersign/server/client`: the typed API for browsers and programs, without code of the server.

export type { Absence, MyAbsence } from '../schemas/absence.ts';
export type { DecisionOutcome } from '../schemas/decisions.ts';
export type { Freeze, Freezes, MadeFreeze } from '../schemas/freeze.ts';
export type { GateAnswer, GateGranted } from '../schemas/gate.ts';
export type { Grant, GrantInDetail } from '../schemas/grant.ts';
export type { Insights } from '../schemas/insights.ts';
export type { ChannelStatus, DeadLetter, Delivery, MyNotices } from '../schemas/notices.ts';
export type { AgentInfo, Me } from '../schemas/person.ts';
export type { Plan } from '../schemas/plan.ts';
export type { ApiProblem } from '../schemas/problem.ts';
export type { ApiRequest, Assignee, RequestWithMessages } from '../schemas/request.ts';
export type { Rules, Suggestion } from '../schemas/rules.ts';
export type { Run, RunSummary } from '../schemas/run.ts';
export type { Stats } from '../schemas/stats.ts';
export { ApiError } from './api-error.ts';
export {
  type Absent,
  type Client,
  type ClientOptions,
  createClient,
  type Decide,
  type Decided,
  type DecideMany,
  type DecideResult,
  type Decision,
  type FreezeRequest,
  type GateAsk,
  type GatePlan,
  type GateRenew,
  type GateReport,
  type GateStart,
  type GrantFilters,
  type InsightFilters,
  type Page,
  type Replay,
  type Replayed,
  type RequestFilters,
  type RunEvent,
  type RunFilters,
  type SimulatedGrant,
  type SimulateGrant,
  type StartRun,
} from './client.ts';
