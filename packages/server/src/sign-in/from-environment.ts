// One issuer from environment variables, for servers without a file of settings.
import { UsageError } from 'countersign';
import { defined } from '../defined.ts';
import type { SignInIssuer } from './issuers.ts';

const PREFIX = 'COUNTERSIGN_OIDC_';

type Read = { readonly [name in keyof SignInIssuer]-?: (text: string) => SignInIssuer[name] };

const text = (given: string): string => given;
const list = (given: string): readonly string[] => given.split(',').map((word) => word.trim());

/** COUNTERSIGN_OIDC_ISSUER, COUNTERSIGN_OIDC_CLIENT_ID and so on. */
const READ: Read = {
  issuer: text,
  clientId: text,
  clientSecret: text,
  name: text,
  label: text,
  personClaim: text,
  domains: list,
  samePeople: isTrue,
  rolesClaim: (given) => (given.includes('/') || !given.includes(',') ? given : list(given)),
  roles: rolesIn,
  all: list,
  scope: text,
  sessionMs: Number,
  idleMs: Number,
  recheckMs: Number,
  unconfirmedMs: Number,
  insecure: isTrue,
};

const variableOf = (name: string): string => PREFIX + name.replace(/[A-Z]/g, '_$&').toUpperCase();

/** None if no variable is set. A misspelt one is refused, because it would be ignored silently. */
export function signInFromEnvironment(env: Readonly<Record<string, string | undefined>>): readonly SignInIssuer[] {
  const given = Object.keys(env).filter((name) => name.startsWith(PREFIX) && (env[name] ?? '') !== '');
  if (given.length === 0) return [];
  const known = new Map(Object.entries(READ).map(([name, read]) => [variableOf(name), { name, read }]));
  const unknown = given.filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw invalid(`${unknown.join(', ')} is unknown. There are: ${[...known.keys()].join(', ')}.`);
  for (const name of [variableOf('issuer'), variableOf('clientId')])
    if (!given.includes(name)) throw invalid(`${given[0]} is set, so ${name} must be set too.`);
  const values = given.map((variable) => {
    const { name = '', read = text } = known.get(variable) ?? {};
    return [name, (read as (given: string) => unknown)(env[variable] ?? '')];
  });
  return [defined(Object.fromEntries(values)) as SignInIssuer];
}

function isTrue(given: string): boolean {
  if (given === 'true' || given === 'false') return given === 'true';
  throw invalid(`“${given}” must be true or false.`);
}

/** As in `Finance approvers=finance,Payments=pay`. */
function rolesIn(given: string): Readonly<Record<string, readonly string[]>> {
  const roles: Record<string, readonly string[]> = {};
  for (const pair of list(given)) {
    const [group = '', role = '', ...more] = pair.split('=').map((word) => word.trim());
    if (group === '' || role === '' || more.length > 0)
      throw invalid(`${variableOf('roles')} must be pairs such as Payments=finance,Leads=boss, not “${pair}”.`);
    roles[group] = [...(roles[group] ?? []), role];
  }
  return roles;
}

const invalid = (message: string): UsageError => new UsageError('invalid-options', { option: 'signIn' }, message);
