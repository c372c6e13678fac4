// The doctor's checks of a running server: does it respond, is it ready, and who are we there?
import { rootReason } from '../backend/unreachable.ts';
import { durationText } from '../print/moment.ts';

/** One check. `unknown` means that nothing is wrong, but there was nothing to check. */
export type Check = {
  readonly name: string;
  readonly status: 'ok' | 'fail' | 'unknown';
  readonly text: string;
  readonly fix?: string;
};

const TIMEOUT_MS = 10_000;

export async function checkServer(url: string, token: string | undefined): Promise<readonly Check[]> {
  const name = 'server';
  const get = (path: string) =>
    fetch(new URL(path, `${url}/`), {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  try {
    const ready = await get('readyz');
    if (!ready.ok) {
      const fix = 'Read its log. Its store may be down.';
      return [{ name, status: 'fail', text: `${url} responds, but is not ready (${ready.status})`, fix }];
    }
    const me = await get('api/v1/me');
    if (!me.headers.get('content-type')?.includes('json')) {
      const fix = 'Check the address and any proxy in front of the server.';
      return [{ name, status: 'fail', text: `${url} responds, but is not a Countersign server`, fix }];
    }
    return [{ name, status: 'ok', text: `${url} is ready` }, serverClock(ready), await checkToken(me)];
  } catch (error) {
    const fix = 'Start it with: countersign serve';
    return [{ name, status: 'fail', text: `${url} does not respond: ${rootReason(error)}`, fix }];
  }
}

function serverClock(response: Response): Check {
  const serverTime = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(serverTime)) return { name: 'clock', status: 'unknown', text: 'the server does not send its time' };
  // The header is precise to the second.
  return clockCheck('the server', Math.abs(Date.now() - serverTime), 5_000);
}

export function clockCheck(other: string, differenceMs: number, limitMs: number): Check {
  const text = `this clock and the clock of ${other} differ by ${durationText(differenceMs)}`;
  if (differenceMs <= limitMs) return { name: 'clock', status: 'ok', text };
  return { name: 'clock', status: 'fail', text, fix: 'Synchronize both clocks with NTP.' };
}

async function checkToken(response: Response): Promise<Check> {
  const name = 'token';
  if (!response.ok) {
    const fix = 'Create a token with `countersign tokens create` and set COUNTERSIGN_TOKEN.';
    return { name, status: 'fail', text: `the server rejected the token (${response.status})`, fix };
  }
  const { id, scopes = [] } = (await response.json()) as { id?: string; scopes?: readonly string[] };
  return { name, status: 'ok', text: `you are ${String(id)} and may ${scopes.join(', ') || 'do nothing'}` };
}
