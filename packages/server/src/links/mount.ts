// The routes of decision links.
import { UsageError } from 'countersign';
import type { Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { Caller } from '../identity/identify.ts';
import type { DecisionLinks } from './decision-links.ts';
import { DECIDE_SCRIPT, DECIDE_SCRIPT_TEXT } from './script.ts';
import { DECIDE_STYLE, DECIDE_STYLESHEET } from './style.ts';

type Mounting = {
  readonly findCaller: (context: Context) => Promise<Caller | undefined>;
  readonly maxBodyBytes: number;
};

export function mountDecisionLinks(
  hono: Pick<Hono, 'get' | 'post'>,
  links: DecisionLinks,
  { findCaller, maxBodyBytes }: Mounting,
): void {
  const visit = (context: Context) => ({ request: context.req.raw, findCaller: () => findCaller(context) });
  const limited = bodyLimit({ maxSize: maxBodyBytes, onError: () => tooLarge(maxBodyBytes) });
  hono.get(
    DECIDE_STYLESHEET,
    () => new Response(DECIDE_STYLE, { headers: { 'content-type': 'text/css; charset=utf-8' } }),
  );
  hono.get(
    DECIDE_SCRIPT,
    () => new Response(DECIDE_SCRIPT_TEXT, { headers: { 'content-type': 'text/javascript; charset=utf-8' } }),
  );
  hono.get('/decide/:token', (context) => links.show(context.req.param('token'), visit(context)));
  hono.post('/decide/:token', limited, (context) => links.decide(context.req.param('token'), visit(context)));
}

function tooLarge(maxBytes: number): never {
  throw new UsageError('too-large', { status: 413, maxBytes }, `The body is larger than ${maxBytes} bytes.`);
}
