// The second opinion on a call: reviewers of its policies read it as data. What they say can only add to what the policies ask.

import type { Policy } from '../../../core/authority/policy.ts';
import { messageOf } from '../../../core/errors.ts';
import { defined, isObject, type Json } from '../../../core/json.ts';
import type { Finding, Review } from '../../../core/request/request.ts';
import type { Driver } from '../../run.ts';
import type { ApprovalContext, PolicyConfig, ReviewedCall, ReviewOptions } from '../../tool/definition.ts';
import { spanOf } from '../../tool/duration.ts';
import { governedBy, nobody } from '../../tool/policies.ts';

/** A policy that asks for a review. */
export type Reviewing = { readonly policy: Policy; readonly review?: PolicyConfig['review'] };

/** `policies`: what the reviews add. */
export type Reviewed = { readonly reviews: readonly Review[]; readonly policies: readonly Policy[] };

const MOST_FINDINGS = 20;
const LONGEST_TEXT = 1_000;
const TWENTY_SECONDS_MS = 20_000;

/** Each reviewer is asked once, whatever else says that the call asks. */
export async function reviewed(
  driver: Driver,
  sources: readonly Reviewing[],
  call: ReviewedCall,
  ctx: ApprovalContext,
): Promise<Reviewed> {
  const own = new Map(sources.flatMap(({ policy, review }) => (review ? [[review, policy.name] as const] : [])));
  if (own.size === 0) return NONE;
  const asked = [...own].map(([review, name]) =>
    one(driver, typeof review === 'function' ? { by: review } : review, name, call, ctx),
  );
  const all = await Promise.all(asked);
  return { reviews: all.map(({ review }) => review), policies: all.flatMap(({ policy }) => policy ?? []) };
}

const NONE: Reviewed = { reviews: [], policies: [] };

async function one(
  driver: Driver,
  { by, within = TWENTY_SECONDS_MS, required }: ReviewOptions,
  name: string | undefined,
  call: ReviewedCall,
  ctx: ApprovalContext,
): Promise<{ readonly review: Review; readonly policy?: Policy }> {
  const about = defined({ policy: name });
  const limit = AbortSignal.timeout(spanOf(within)?.ms ?? TWENTY_SECONDS_MS);
  try {
    const late = new Promise<never>((_, reject) => {
      limit.addEventListener('abort', () => reject(new Error('it took too long')), { once: true });
    });
    const signal = AbortSignal.any([limit, ctx.signal]);
    // A copy, so that a reviewer cannot change what runs.
    const asked = async () => by(structuredClone(call), { signal });
    const said = await Promise.race([asked(), late]);
    const { findings, stricter } = resultIn(said);
    if (stricter === undefined) return { review: { ...about, findings } };
    const { policy } = await governedBy(stricter, driver.policies, call.input, ctx);
    return { review: { ...about, findings, stricter: true }, policy };
  } catch (error) {
    const failed = messageOf(error).slice(0, LONGEST_TEXT);
    if (!required) return { review: { ...about, findings: [], failed } };
    const policy = nobody(`A review is required, and it failed: ${failed}. Edit the input or apply the policy again.`);
    return { review: { ...about, findings: [], failed, required: true }, policy };
  }
}

/** Throws if it is not a review: then it has failed. */
function resultIn(said: unknown): { readonly findings: readonly Finding[]; readonly stricter?: string | PolicyConfig } {
  const result = Array.isArray(said) ? { findings: said } : said;
  if (!isObject(result) || !Array.isArray(result.findings)) throw new Error('it returned no list of findings');
  const findings = result.findings.slice(0, MOST_FINDINGS).map(findingIn);
  const { stricter } = result;
  return { findings, ...(stricter !== undefined && { stricter: stricter as string | PolicyConfig }) };
}

function findingIn(given: unknown): Finding {
  const { level, text, field } = (isObject(given) ? given : {}) as { readonly [key: string]: Json };
  if ((level !== 'info' && level !== 'warning') || typeof text !== 'string')
    throw new Error('it returned a finding without a level and a text');
  return { level, text: text.slice(0, LONGEST_TEXT), ...(typeof field === 'string' && { field: field.slice(0, 200) }) };
}
