// The doctor's checks of a running server: does it answer, is it ready, and who are we there?

import { reasonOf } from '../desk/server-away.ts';
import type { Check } from './check.ts';

const TIMEOUT_MS = 10_000;

export async function checkServer(url: string, token: string | undefined): Promise<readonly Check[]> {
  const ask = (path: string) =>
    fetch(new URL(path, `${url}/`), {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  try {
    const ready = await ask('readyz');
    if (!ready.ok)
      return [
        {
          name: 'server',
          status: 'fail',
          text: `${url} answers, but is not ready (${ready.status})`,
          fix: 'Look at its log; its store may be away.',
        },
      ];
    const me = await ask('api/v1/me');
    if (!me.headers.get('content-type')?.includes('json'))
      return [
        {
          name: 'server',
          status: 'fail',
          text: `${url} answers, but not as a Countersign server does`,
          fix: 'Check the address, and what stands in front of the server.',
        },
      ];
    return [
      { name: 'server', status: 'ok', text: `${url} answers and is ready` },
      clockCheck(ready),
      await personCheck(me),
    ];
  } catch (error) {
    return [
      {
        name: 'server',
        status: 'fail',
        text: `${url} does not answer: ${reasonOf(error)}`,
        fix: 'Start it with: countersign serve',
      },
    ];
  }
}

/** A server tells its time to the second. */
const CLOCK_LIMIT_MS = 5_000;

function clockCheck(response: Response): Check {
  const told = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(told)) return { name: 'clock', status: 'unknown', text: 'the server does not tell its time' };
  const difference = Math.abs(Date.now() - told);
  const text = `this clock and that of the server differ by ${Math.round(difference / 1_000)} s`;
  if (difference <= CLOCK_LIMIT_MS) return { name: 'clock', status: 'ok', text };
  return { name: 'clock', status: 'fail', text, fix: 'Let both computers keep the time with NTP.' };
}

async function personCheck(response: Response): Promise<Check> {
  if (!response.ok)
    return {
      name: 'token',
      status: 'fail',
      text: `the server does not know who asks (${response.status})`,
      fix: 'Make a token with `countersign tokens create`, and set COUNTERSIGN_TOKEN.',
    };
  const { id, scopes = [] } = (await response.json()) as { id?: string; scopes?: readonly string[] };
  return { name: 'token', status: 'ok', text: `you are ${String(id)}, and may ${scopes.join(', ') || 'do nothing'}` };
}
