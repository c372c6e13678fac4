// Health, readiness and metrics.
import { setTimeout as delay } from 'node:timers/promises';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Countersign } from 'countersign';
import type { Context } from 'hono';
import { requireReach, requireScope } from '../http/endpoint.ts';
import type { Caller } from '../identity/identify.ts';
import type { AppOptions } from '../options.ts';
import { checkWrites } from '../store-writes.ts';
import type { Measures } from './measures.ts';

export type Health = {
  readonly ai: Countersign;
  readonly measures: Measures;
  readonly isRetired: () => boolean;
} & (
  | { readonly metrics: 'open' | 'off' }
  | {
      readonly metrics: NonNullable<AppOptions['metrics']>;
      /** Identifies the caller of metrics that need a token. */
      readonly caller: (context: Context) => Promise<Caller>;
    }
);

const STORE_MS = 2_000;

export function mountHealth(app: OpenAPIHono, health: Health): void {
  const { ai, measures, isRetired } = health;
  app.get('/healthz', () => Response.json({ status: 'ok' }));
  app.get('/readyz', async () => {
    if (isRetired()) return Response.json({ status: 'stopping' }, { status: 503 });
    const store = await answersInTime(canWork(ai));
    return Response.json({ status: store ? 'ok' : 'store-failed' }, { status: store ? 200 : 503 });
  });
  if (health.metrics === 'off') return;
  app.get('/metrics', async (context) => {
    if (health.metrics === 'token') {
      const { person } = await health.caller(context);
      requireScope(person, 'read');
      requireReach(person);
    }
    const text = await measures.text(ai);
    return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } });
  });
}

function canWork({ runs }: Countersign): Promise<unknown> {
  return Promise.all([runs.list({ limit: 1 }), checkWrites(runs.store)]);
}

/** The requests that need the store log why it fails. */
function answersInTime(asked: Promise<unknown>): Promise<boolean> {
  const answered = asked.then(() => true);
  return Promise.race([answered, delay(STORE_MS, false, { ref: false })]).catch(() => false);
}
