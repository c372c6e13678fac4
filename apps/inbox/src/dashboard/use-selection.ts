// What the dashboard shows, kept in the address: the period, the filters, and by what it groups.
import { useSearchParams } from 'wouter';
import type { InsightFilters } from '../api/queries.ts';

export const PERIODS = [7, 30, 90];

export const GROUPS = {
  tool: { name: 'Tool', of: 'tools', none: 'No tool has settled requests.' },
  person: { name: 'Person', of: 'people', none: 'No person has voted yet.' },
  policy: { name: 'Policy', of: 'policies', none: 'No settled request has a policy with a name.' },
} as const;

type By = keyof typeof GROUPS;

export type UseSelection = {
  readonly filters: InsightFilters;
  readonly by: By;
  readonly isFiltered: boolean;
  readonly change: (changed: { readonly [name: string]: string }) => void;
  readonly clear: () => void;
};

export function useSelection(): UseSelection {
  const [params, setParams] = useSearchParams();
  const text = (name: string): string => params.get(name) ?? '';
  const asked = Number(text('days'));
  const filters = {
    days: PERIODS.includes(asked) ? asked : 30,
    tool: text('tool'),
    person: text('person'),
    policy: text('policy'),
  };
  const by = text('by');
  const change = (changed: { readonly [name: string]: string }): void =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changed)) {
          if (value === '') next.delete(name);
          else next.set(name, value);
        }
        return next;
      },
      { replace: true },
    );
  return {
    filters,
    by: by in GROUPS ? (by as By) : 'tool',
    isFiltered: filters.tool + filters.person + filters.policy !== '',
    change,
    clear: () => change({ tool: '', person: '', policy: '' }),
  };
}
