// Grants, as far as this app reads them.
export type Condition = {
  readonly field: string | readonly string[];
  readonly equals?: unknown;
  readonly oneOf?: readonly unknown[];
  readonly above?: number;
  readonly atLeast?: number;
  readonly below?: number;
  readonly atMost?: number;
};

/** What a grant allows. */
export type Limits = {
  readonly where?: readonly Condition[];
  readonly serves?: { readonly people?: readonly string[]; readonly agents?: readonly string[] };
  readonly uses: number;
  readonly budget?: { readonly field: string | readonly string[]; readonly total: number };
};

export type GrantRequest = Limits & { readonly expiresAt: number };

export type Grant = GrantRequest & {
  readonly id: string;
  readonly tool: string;
  readonly schema?: unknown;
  readonly givenBy: string;
  readonly interruptId: string;
  readonly madeAt: number;
  readonly status: 'active' | 'used-up' | 'expired' | 'revoked';
  readonly left: { readonly uses: number; readonly amount?: number };
  readonly revoked: { readonly by: string | null; readonly at: number; readonly reason?: string } | null;
  readonly mayRevoke: boolean;
};

export type GrantInDetail = Grant & {
  readonly calls: readonly {
    readonly key: string;
    readonly runId: string;
    readonly at: number;
    readonly amount?: number;
    readonly status: 'reserved' | 'spent';
  }[];
};

export type Simulated = {
  readonly simulation: {
    readonly requests: number;
    readonly matching: number;
    readonly approved: number;
    readonly edited: number;
    readonly rejected: number;
  } | null;
  /** What the approved requests of the past have in common; null if there are too few. */
  readonly suggestion: GrantRequest | null;
};

const SIGNS = { above: 'above', atLeast: 'at least', below: 'below', atMost: 'at most' } as const;

/** As in `amount at most 500`. */
export function conditionText({ field, equals, oneOf, ...limits }: Condition): string {
  const name = [field].flat().join('.');
  const ranges = Object.entries(limits).map(([limit, value]) => `${SIGNS[limit as keyof typeof SIGNS]} ${value}`);
  const texts = [
    ...(equals === undefined ? [] : [`is ${shown(equals)}`]),
    ...(oneOf === undefined ? [] : [`is one of ${oneOf.map(shown).join(', ')}`]),
    ...ranges,
  ];
  return `${name} ${texts.join(' and ')}`;
}

export const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
