// What stands out in a call beside the approved calls of the same tool. It says nothing where the past is too short to tell.
import { commonConditions } from '../authority/common-conditions.ts';
import { type Json, sameJson } from '../json.ts';
import { amountsIn, recipientOf } from './totals.ts';

/** A call of the same tool that people approved. */
export type ApprovedCall = {
  readonly requestId: string;
  /** The input that was approved. */
  readonly input: Json;
  readonly by: string | null;
  /** When it was approved, in milliseconds. */
  readonly at: number;
};

/** `among`: how many approved calls it was compared with. */
export type Remark =
  /** None of them went to this recipient. */
  | { readonly type: 'new-recipient'; readonly field: string; readonly value: Json; readonly among: number }
  /** More than any of them, of those to the same recipient if `recipient` is given, in the same currency. */
  | {
      readonly type: 'larger-than-usual';
      readonly field: string;
      readonly amount: number;
      readonly currency: string | null;
      readonly most: number;
      readonly among: number;
      readonly recipient?: Json;
    }
  /** The same input was approved not long ago. */
  | { readonly type: 'same-as-before'; readonly requestId: string; readonly by: string | null; readonly at: number };

/** With fewer calls to compare with, nothing is usual. */
const LEAST = 5;
/** A payment that comes every month is no repetition. */
const SAME_WITHIN_MS = 7 * 24 * 60 * 60 * 1_000;

/** `past`: approved calls of the same tool, the newest first. */
export function remarksOn(input: Json, past: readonly ApprovedCall[], now: number): readonly Remark[] {
  const recipient = recipientOf(input);
  const toSomeone = past.flatMap((call) => recipientOf(call.input) ?? []);
  const theirs = recipient ? past.filter((call) => sameJson(recipientOf(call.input)?.value, recipient.value)) : [];
  const remarks: Remark[] = [];
  if (recipient && theirs.length === 0 && toSomeone.length >= LEAST) {
    const field = recipient.path.join('.');
    remarks.push({ type: 'new-recipient', field, value: recipient.value, among: toSomeone.length });
  }
  const isKnown = theirs.length >= LEAST;
  for (const larger of largerAmounts(input, isKnown ? theirs : past))
    remarks.push({ ...larger, ...(isKnown && recipient && { recipient: recipient.value }) });
  const same = past.find((call) => now - call.at <= SAME_WITHIN_MS && sameJson(call.input, input));
  if (same) remarks.push({ type: 'same-as-before', requestId: same.requestId, by: same.by, at: same.at });
  return remarks;
}

type Larger = Extract<Remark, { readonly type: 'larger-than-usual' }>;

/** The amounts above the limit that a grant from these calls would have. */
function largerAmounts(input: Json, past: readonly ApprovedCall[]): readonly Larger[] {
  const before = past.flatMap((call) => amountsIn(call.input));
  return amountsIn(input).flatMap(({ key, path, currency, amount }) => {
    const alike = before.filter((one) => one.key === key);
    if (alike.length < LEAST) return [];
    const [condition] = commonConditions(alike.map((one) => ({ amount: Number(one.amount) })));
    const most = condition?.atMost;
    if (most === undefined || !(Number(amount) > most)) return [];
    const field = path.length === 0 ? 'input' : path.join('.');
    return [{ type: 'larger-than-usual', field, amount: Number(amount), currency, most, among: alike.length }];
  });
}
