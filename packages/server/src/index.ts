// The entry point `@countersign/server`: the HTTP API, identity and telemetry.
export type { Policies, RunReference } from './access.ts';
export { type App, createApp } from './app.ts';
export type { ChannelHost, ServerChannel } from './channels/server-channel.ts';
export type { AgentsEnvironment } from './cli/runtime/agents-file.ts';
export { ApiError } from './client/api-error.ts';
export { type Client, type ClientOptions, createClient } from './client/client.ts';
export { type DemoEffect, type DemoOptions, demoAgents } from './demo/agents.ts';
export { type ChosenModel, modelFromEnvironment } from './demo/environment.ts';
export { type HeaderIdentityOptions, headerIdentity } from './identity/header-identity.ts';
export type { Identify, Origin } from './identity/identify.ts';
export { type JwtIdentityOptions, jwtIdentity } from './identity/jwt-identity.ts';
export type { Identified, Person, Reach, Scope } from './identity/person.ts';
export { createToken, listTokens, type NewToken, revokeToken, type TokenRecord } from './identity/tokens.ts';
export { jsonLines, type LogEntry, type LogLevel, type LogSink } from './log.ts';
export type { AppOptions } from './options.ts';
export type { Hold, Interrupt } from './schemas/interrupt.ts';
export { type RunningServer, type ServeOptions, serve } from './serve.ts';
export { type TraceOptions, type Tracing, traceRuns } from './telemetry/trace-runs.ts';
