// The times of a request, computed once when it is asked: reminders, escalations, and its deadline.

import { copyOf, defined } from '../../core/json.ts';
import type { Wait } from '../../core/request/request.ts';
import type { WaitOptions } from '../tool/ask-options.ts';
import { type Duration, type Span, spanOf } from '../tool/duration.ts';

export type Times = Omit<Wait, 'onExpiry'>;

/** Rejects if the business hours never come. */
export function timesOf(wait: WaitOptions, now: number): Times | Promise<Times> {
  const { expiresIn, remindAfter, expireAfter, remind, escalate, businessHours } = wait;
  const hasNone = expiresIn === undefined && expireAfter === undefined && remindAfter === undefined;
  if (hasNone && !remind && !escalate) return NO_TIMES;
  if (!businessHours) return timesAt(wait, now, (start, { ms }) => start + ms);
  return import('./business-hours.ts').then(({ businessCalendar }) =>
    timesAt(wait, now, businessCalendar(businessHours)),
  );
}

const NO_TIMES: Times = {};

function timesAt(wait: WaitOptions, now: number, after: (start: number, span: Span) => number): Times {
  const { expiresIn, remindAfter, expireAfter, remind = [], escalate = [] } = wait;
  const timeOf = (duration: Duration | undefined): number | undefined => {
    const span = spanOf(duration);
    return span && after(now, span);
  };
  const inOrder = [...new Set(remind.flatMap((duration) => timeOf(duration) ?? []))].sort((a, b) => a - b);
  const reminders = remindAfter === undefined ? inOrder : [now + Math.ceil(remindAfter)];
  const escalations = escalate.map(({ after, to }) => ({ at: timeOf(after) ?? now, to: copyOf(to) }));
  return defined({
    expiresAt: expiresIn === undefined ? timeOf(expireAfter) : now + Math.ceil(expiresIn),
    reminders: reminders.length > 0 ? reminders : undefined,
    escalate: escalations.length > 0 ? escalations.sort((a, b) => a.at - b.at) : undefined,
  });
}
