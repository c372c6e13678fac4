// Live streams of a fleet: each is attached to one server, and to another one when that goes away.
import { setTimeout as delay } from 'node:timers/promises';
import { type ReceivedEvent, readServerEvents } from '../../src/client/server-events.ts';
import type { Member } from './members.ts';

/** An event of a run, with how long it took to arrive after it was recorded and the stream was connected. */
export type Seen = {
  readonly seq: number;
  readonly type: string;
  readonly at: number;
  readonly lagMs: number;
  readonly callId?: string;
  readonly interrupt?: { readonly kind: string };
};

/** Follows a run from server to server until it ends. `pick` chooses a server; undefined if none is up. */
export async function* followRun(
  runId: string,
  token: string,
  pick: () => Member | undefined,
  signal: AbortSignal,
): AsyncGenerator<Seen> {
  let last = 0;
  while (!signal.aborted) {
    const connected = await connect(pick()?.url, `/api/v1/runs/${runId}/events?follow=1`, token, signal, last);
    if (connected === undefined) {
      await delay(50);
      continue;
    }
    for await (const { event, data } of untilCut(connected.body)) {
      if (event === 'end') return;
      const { seq, at, type, callId, interrupt } = JSON.parse(data) as Omit<Seen, 'lagMs'>;
      last = seq;
      const lagMs = Date.now() - Math.max(at, connected.at);
      yield { seq, at, type, lagMs, ...(callId !== undefined && { callId }), ...(interrupt && { interrupt }) };
    }
  }
}

/** One connection to the stream of changes, and what it reported; `runId` is null for a report of all runs. */
export type ChangesConnection = {
  readonly from: number;
  until: number;
  readonly reports: { readonly runId: string | null; readonly at: number }[];
};

/** Follows the changes that one server reports, whenever it is up. */
export function followChanges(member: Member, token: string, signal: AbortSignal): readonly ChangesConnection[] {
  const connections: ChangesConnection[] = [];
  const following = async () => {
    while (!signal.aborted) {
      const connected = member.isUp ? await connect(member.url, '/api/v1/changes', token, signal) : undefined;
      if (connected === undefined) {
        await delay(50);
        continue;
      }
      const connection: ChangesConnection = { from: connected.at, until: Number.POSITIVE_INFINITY, reports: [] };
      connections.push(connection);
      for await (const { data } of untilCut(connected.body)) {
        const { runId } = JSON.parse(data) as { readonly runId: string | null };
        connection.reports.push({ runId, at: Date.now() });
      }
      connection.until = Date.now();
    }
  };
  void following();
  return connections;
}

/** Reads a chat's stream until it ends. Undefined if there is nothing to show, or the connection broke off. */
export async function chatStreamEnd(
  member: Member,
  chatId: string,
  token: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const pid = member.pid;
  const connected = await connect(member.url, `/api/v1/chat/clerk/${chatId}/stream`, token, signal);
  if (connected === undefined) return undefined;
  let isFinished = false;
  for await (const { data } of untilCut(connected.body)) isFinished = data === '[DONE]';
  return isFinished && member.isUp && member.pid === pid ? Date.now() : undefined;
}

type Connected = { readonly at: number; readonly body: ReadableStream<Uint8Array> };

async function connect(
  url: string | undefined,
  path: string,
  token: string,
  signal: AbortSignal,
  lastEventId = 0,
): Promise<Connected | undefined> {
  if (url === undefined) return undefined;
  const headers = { authorization: `Bearer ${token}`, 'last-event-id': String(lastEventId) };
  try {
    const response = await fetch(`${url}${path}`, { headers, signal });
    if (response.status === 200 && response.body) return { at: Date.now(), body: response.body };
    await response.body?.cancel();
  } catch {
    // The server is gone: another one takes the connection.
  }
  return undefined;
}

/** The events until the stream ends or its server dies. */
async function* untilCut(body: ReadableStream<Uint8Array>): AsyncGenerator<ReceivedEvent> {
  try {
    yield* readServerEvents(body);
  } catch {
    // Cut off. The caller connects to another server.
  }
}
