// The steps of a plan, with what came of each and what is left.
import { VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { planQuery } from '../api/queries.ts';
import type { Plan, RequestWithMessages } from '../api/wire.ts';

export function PlanSteps({ request: { id, payload } }: { readonly request: RequestWithMessages }) {
  const isPlan = typeof payload === 'object' && payload !== null && 'plan' in payload;
  const { data } = useQuery({ ...planQuery(id), enabled: isPlan });
  if (!data || data.steps.length === 0) return null;
  return (
    <section aria-label="Steps of the plan" className="flex flex-col gap-2">
      <h3 className="font-semibold">Steps</h3>
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

const STATES: Readonly<Record<Plan['steps'][number]['status'], string>> = {
  proposed: 'Proposed',
  rejected: 'Will not run',
  active: 'Not run yet',
  'used-up': 'Running',
  expired: 'Expired',
  revoked: 'Revoked',
};

function StepState({ step: { status, left, calls } }: { readonly step: Plan['steps'][number] }) {
  return (
    <span className="flex flex-wrap gap-x-3 text-muted">
      {calls.map(({ requestId, outcome }) => (
        <Link key={requestId} href={`/requests/${encodeURIComponent(requestId)}`} className="underline">
          {outcome?.state === 'done' ? 'Done' : outcome ? 'Look at the outcome' : 'Started'}
        </Link>
      ))}
      {calls.length === 0 ? STATES[status] : left > 0 && `${left} left`}
    </span>
  );
}
