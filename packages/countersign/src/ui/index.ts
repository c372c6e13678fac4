// The door `countersign/ui`: a chat with an agent for `useChat` of the AI SDK.

export { type BodyLimits, readJson } from './body.ts';
export type { Allowed, CardDecision, InterruptCard, Problem } from './card.ts';
export { interruptCard, misfitOf } from './cards.ts';
export type { Authorize, ChatRouteOptions, Person } from './chat-options.ts';
export { nodeHandler } from './node.ts';
export { problemsOf } from './posted-decisions.ts';
export { type HttpProblem, problemOf, problemResponse } from './problem.ts';
export { APPROVAL } from './recipe.ts';
export { runResponse, type StreamResponseOptions, streamResponse } from './responses.ts';
export { type ChatRoute, chatRoute } from './route.ts';
export type { SealKey, SealKeys } from './seal.ts';
export { type SseOptions, sseResponse } from './sse.ts';
export type { ChatStanding } from './standings.ts';
export type { LoadedChat } from './stored-chat.ts';
export type { ChatChunk, ChatDataParts, ChatMessage, ChatPart, InferTools } from './ui-message.ts';
export type { ClientVersion } from './writer.ts';
