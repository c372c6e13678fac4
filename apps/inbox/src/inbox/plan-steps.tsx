// The steps of a plan, with what came of each and what is left.
import { VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { planQuery } from '../api/queries.ts';
import type { Plan, RequestWithMessages } from '../api/wire.ts';

type Asked = Pick<RequestWithMessages, 'id' | 'payload'>;

export const isPlan = ({ payload }: Pick<Asked, 'payload'>): boolean =>
  typeof payload === 'object' && payload !== null && 'plan' in payload;

export function PlanSteps({ request, linksToRequest }: { readonly request: Asked; readonly linksToRequest?: true }) {
  const { data } = useQuery({ ...planQuery(request.id), enabled: isPlan(request) });
  if (!data || data.steps.length === 0) return null;
  const done = data.steps.filter(isDone).length;
  return (
    <section aria-label="Steps of the plan" className="flex flex-col gap-2">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <h2 className="font-semibold">{linksToRequest ? 'Plan' : 'Steps'}</h2>
        <span className="text-muted">
          {done} of {data.steps.length} done
        </span>
        {linksToRequest && (
          <Link href={`/requests/${encodeURIComponent(request.id)}`} className="ml-auto underline">
            View request
          </Link>
        )}
      </div>
      <ol className="flex flex-col gap-2">
        {data.steps.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: The steps of a plan keep their places.
          <li key={index} className="flex flex-wrap items-baseline gap-x-3 rounded-md border border-line px-3 py-2">
            <span className="min-w-0 flex-1 break-words">
              {index + 1}. <VisibleText text={step.title ?? step.tool} />
            </span>
            <StepState step={step} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** No call of it may still run, and all that ran are done. */
const isDone = ({ left, calls }: Plan['steps'][number]): boolean =>
  left === 0 && calls.length > 0 && calls.every(({ outcome }) => outcome?.state === 'done');

const STATES: Readonly<Record<Plan['steps'][number]['status'], string>> = {
  proposed: 'Proposed',
  rejected: 'Will not run',
  active: 'Not run yet',
  'used-up': 'Running',
  expired: 'Expired',
  revoked: 'Revoked',
};

const OUTCOMES = {
  done: 'Done',
  failed: 'Failed',
  unknown: 'Outcome unknown',
  'not-run': 'Did not run',
  running: 'Running',
  frozen: 'Frozen',
} as const;

function StepState({ step: { status, left, calls } }: { readonly step: Plan['steps'][number] }) {
  return (
    <span className="flex flex-wrap gap-x-3 text-muted">
      {calls.map(({ requestId, outcome }) => (
        <Link key={requestId} href={`/requests/${encodeURIComponent(requestId)}`} className="underline">
          {outcome ? OUTCOMES[outcome.state] : 'Started'}
        </Link>
      ))}
      {calls.length === 0 ? STATES[status] : left > 0 && `${left} left`}
    </span>
  );
}
