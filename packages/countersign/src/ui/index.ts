// The entry point `countersign/ui`: a chat with an agent for `useChat` of the AI SDK.

export { type VoteRights, type Voter, voteRights } from '../core/authority/may-decide.ts';
export { namesDeciders } from '../core/authority/policy.ts';
export { WHILE_PENDING, type WhilePending } from '../loop/options.ts';
export { dataSchemaProblem } from '../loop/tool/data-schema.ts';
export type { Authorize, ChatRouteOptions, Person } from './chat-options.ts';
export type { ChatStatus } from './chats/chat-watch.ts';
export type { LoadedChat } from './chats/stored.ts';
export { type BodyLimits, readJson } from './http/body.ts';
export { problemsOf } from './http/posted-decisions.ts';
export { type HttpProblem, problemOf, problemResponse } from './http/problem.ts';
export { APPROVAL } from './http/recipe.ts';
export { SSE_HEADERS, type SseEvent, type SseOptions, sseBytes, sseResponse, untilLeft } from './http/sse.ts';
export { nodeHandler } from './node.ts';
export type {
  Allowed,
  CardComment,
  CardDecision,
  CardGrant,
  CardProgress,
  CardRule,
  CardVote,
  Problem,
  RequestCard,
} from './picture/card.ts';
export { misfitOf, requestCard, type StoredCard } from './picture/cards.ts';
export type { ChatChunk, ChatDataParts, ChatMessage, ChatPart, InferTools } from './picture/ui-message.ts';
export type { ClientVersion } from './picture/writer.ts';
export { runResponse, type StreamResponseOptions, streamResponse } from './responses.ts';
export { type ChatRoute, chatRoute } from './route.ts';
export type { SealKey, SealKeys } from './seal.ts';
