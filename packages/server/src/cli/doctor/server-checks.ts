// The doctor's checks of a running server: does it respond, is it ready, and who are we there?
import { defined } from '../../defined.ts';
import { durationText } from '../../text/moment.ts';
import { rootReason } from '../backend/unreachable.ts';

/** One check. `unknown` means that nothing is wrong, but there was nothing to check. */
export type Check = {
  readonly name: string;
  readonly status: 'ok' | 'fail' | 'unknown';
  readonly text: string;
  readonly fix?: string;
};

export const check = (name: string, status: Check['status'], text: string, fix?: string): Check => ({
  ...{ name, status, text },
  ...defined({ fix }),
});

const TIMEOUT_MS = 10_000;

export async function checkServer(url: string, token: string | undefined): Promise<readonly Check[]> {
  const get = (path: string) =>
    fetch(new URL(path, `${url}/`), {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  const failed = (text: string, fix: string) => [check('server', 'fail', `${url} ${text}`, fix)];
  try {
    const ready = await get('readyz');
    if (!ready.ok)
      return failed(`responds, but is not ready (${ready.status})`, 'Read its log. Its store may be down.');
    const me = await get('api/v1/me');
    if (!me.headers.get('content-type')?.includes('json')) {
      const fix = 'Check the address and any proxy in front of the server.';
      return failed('responds, but is not a Countersign server', fix);
    }
    return [check('server', 'ok', `${url} is ready`), serverClock(ready), await checkToken(me)];
  } catch (error) {
    return failed(`does not respond: ${rootReason(error)}`, 'Start it with: countersign serve');
  }
}

function serverClock(response: Response): Check {
  const serverTime = Date.parse(response.headers.get('date') ?? '');
  if (Number.isNaN(serverTime)) return check('clock', 'unknown', 'the server does not send its time');
  // The header is precise to the second.
  return clockCheck('the server', Math.abs(Date.now() - serverTime), 5_000);
}

export function clockCheck(other: string, differenceMs: number, limitMs: number): Check {
  const text = `this clock and the clock of ${other} differ by ${durationText(differenceMs)}`;
  if (differenceMs <= limitMs) return check('clock', 'ok', text);
  return check('clock', 'fail', text, 'Synchronize both clocks with NTP.');
}

async function checkToken(response: Response): Promise<Check> {
  if (!response.ok) {
    const fix = 'Create a token with `countersign tokens create` and set COUNTERSIGN_TOKEN.';
    return check('token', 'fail', `the server rejected the token (${response.status})`, fix);
  }
  const { id, scopes = [] } = (await response.json()) as { id?: string; scopes?: readonly string[] };
  return check('token', 'ok', `you are ${String(id)} and may ${scopes.join(', ') || 'do nothing'}`);
}
