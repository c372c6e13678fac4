// What a server is told: who asks, who may, and how careful it is.
import { UsageError } from 'countersign';
import type { Policies } from './access.ts';
import type { Identify } from './identity/identify.ts';
import { keysOf, refuseUnknownKeys } from './known-keys.ts';
import type { LogSink } from './telemetry/log.ts';

/** The options of `createApp`. */
export type AppOptions = Policies & {
  /** Says who asks, beside API tokens: `headerIdentity`, `jwtIdentity`, or your own. */
  readonly identify?: Identify;
  /** Where browsers reach this server, such as `https://approvals.example.com`. With https, cookies are secure only. */
  readonly publicUrl?: string;
  /** Under which path the app is mounted, such as `/approvals`; none unless given. */
  readonly basePath?: string;
  /** The names that this server answers to beside that of `publicUrl`; any unless given. */
  readonly hosts?: readonly string[] | 'loopback';
  /** Other origins whose pages may ask with the cookies of their users. */
  readonly allowedOrigins?: readonly string[];
  /** The model in use, as `/me` tells it; see `modelFromEnvironment`. */
  readonly model?: { readonly name: string; readonly demo: boolean };
  /** Who may read `/metrics`: those whose token reaches all runs, anybody, or nobody. `token` unless given. */
  readonly metrics?: 'token' | 'open' | 'off';
  /** The folder of the built inbox; the one in this package unless given. False: there is none. */
  readonly inboxDir?: string | false;
  /** Where lines of the log go; nowhere unless given. */
  readonly log?: LogSink;
  /** Logs what tools are called with and what was answered as well. */
  readonly logInputs?: boolean;
  /** 1 MB unless given. */
  readonly maxBodyBytes?: number;
  /** How long a body may take to arrive; 30 seconds unless given. */
  readonly bodyTimeoutMs?: number;
  /** How often an open stream gives a sign of life; 15 seconds unless given. */
  readonly keepAliveMs?: number;
  /** How long a stream stays open before its client has to ask anew; an hour unless given. */
  readonly streamLifetimeMs?: number;
  /** How often it is looked whether those who follow are still known and may; 30 seconds unless given. */
  readonly streamCheckMs?: number;
  /** How many streams may be open at once; 2,000 by default. */
  readonly maxStreams?: number;
  /** How many of them one person may have open; 200 by default. */
  readonly maxStreamsPerPerson?: number;
};

export const APP_KEYS = keysOf<AppOptions>({
  mayRead: true,
  maySteer: true,
  mayDecide: true,
  identify: true,
  publicUrl: true,
  basePath: true,
  hosts: true,
  allowedOrigins: true,
  model: true,
  metrics: true,
  inboxDir: true,
  log: true,
  logInputs: true,
  maxBodyBytes: true,
  bodyTimeoutMs: true,
  keepAliveMs: true,
  streamLifetimeMs: true,
  streamCheckMs: true,
  maxStreams: true,
  maxStreamsPerPerson: true,
});

/** Throws `invalid-options` for what protects and would protect otherwise than was meant. */
export function checkAppOptions(what: string, options: AppOptions): void {
  refuseUnknownKeys(what, options, APP_KEYS);
  for (const name of ['identify', 'mayRead', 'maySteer', 'mayDecide'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'function') throw invalid(name, 'a function');
  const { allowedOrigins = [], hosts = 'loopback', metrics = 'off' } = options;
  if (!isTexts(allowedOrigins)) throw invalid('allowedOrigins', 'a list of texts');
  if (hosts !== 'loopback' && !isTexts(hosts)) throw invalid('hosts', '"loopback" or a list of texts');
  if (!['token', 'open', 'off'].includes(metrics)) throw invalid('metrics', 'token, open or off');
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function invalid(option: string, what: string): UsageError {
  return new UsageError('invalid-options', { option }, `\`${option}\` must be ${what}.`);
}
