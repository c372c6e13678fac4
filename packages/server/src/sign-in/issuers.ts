// The issuers that sign people in by OpenID Connect: their options, checked before the server starts.
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import { aBoolean, aString, checkOptions, isStrings, option, optionsOf } from '../check-options.ts';
import { isLoopback } from '../http/host-check.ts';
import { isRole } from '../identity/person.ts';

/** A provider of your organisation, such as Google, Okta, Entra ID or Keycloak. */
export type SignInIssuer = {
  /** Its issuer identifier, such as `https://login.example.com`. Its addresses and keys are found from it. */
  readonly issuer: string;
  readonly clientId: string;
  /** Absent for a public client, which has only PKCE. */
  readonly clientSecret?: string;
  /** Ends the address of its callback, `/login/callback/<name>`; `sso` by default. Several issuers need different names. */
  readonly name?: string;
  /** Names it on the sign-in page; its host by default. */
  readonly label?: string;
  /**
   * The claim that names a person. By default `email`, which the issuer must have verified; people without a mail address are named
   * `<issuer>#<sub>`. `sub` always names them so. Another claim, such as `preferred_username`, is trusted as it is.
   */
  readonly personClaim?: string;
  /** The domains of the mail addresses that may sign in; any by default. Google and several issuers need them. */
  readonly domains?: readonly string[];
  /** This issuer may name the same people as others. Otherwise their domains must differ. */
  readonly samePeople?: boolean;
  /** The claim with the groups: its name, `groups` by default, or the path to it, such as `['realm_access', 'roles']`. */
  readonly rolesClaim?: string | readonly string[];
  /** The roles that each group gives. Without it, and with `rolesClaim`, the values of the claim are the roles. */
  readonly roles?: Readonly<Record<string, string | readonly string[]>>;
  /** The groups whose members see and by default decide everyone's runs. */
  readonly all?: readonly string[];
  /** What is asked for; `openid profile email` by default. */
  readonly scope?: string;
  /** How long a session lasts; 12 hours by default. */
  readonly sessionMs?: number;
  /** How long a session lasts without a request of the browser; 2 hours by default. */
  readonly idleMs?: number;
  /**
   * How old the roles of a person may be before the issuer is asked again; 5 minutes by default. It needs a refresh token, which many
   * issuers give with the scope `offline_access`.
   */
  readonly recheckMs?: number;
  /** How long a person stays signed in while the issuer cannot be asked again; 1 hour by default. */
  readonly unconfirmedMs?: number;
  /** Allows http for an issuer on this machine, for tests. */
  readonly insecure?: boolean;
};

/** An issuer with its defaults. */
export type Issuer = SignInIssuer &
  Required<Pick<SignInIssuer, 'name' | 'label' | 'scope' | 'sessionMs' | 'idleMs' | 'recheckMs' | 'unconfirmedMs'>>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const GOOGLE = 'https://accounts.google.com';

const needed = z.custom((value) => typeof value === 'string' && value !== '', 'must be a string that is not empty');
const names = option((value) => isStrings(value) && value.length > 0, 'must be an array of names');
const aTime = option((value) => Number.isFinite(value) && Number(value) > 0, 'must be milliseconds above 0');
const Shape = optionsOf<SignInIssuer>({
  issuer: z.custom((value) => typeof value === 'string' && URL.canParse(value), 'must be a URL'),
  clientId: needed,
  clientSecret: needed.optional(),
  name: option((value) => /^[\w.-]{1,50}$/.test(String(value)), 'must be letters, digits, dots and dashes'),
  label: needed.optional(),
  personClaim: needed.optional(),
  domains: option(
    (value) => isStrings(value) && value.length > 0 && value.every((one) => /^[^\s@]+\.[^\s@]+$/.test(one)),
    'must be an array of domains such as example.com',
  ),
  samePeople: aBoolean,
  rolesClaim: option(
    (value) => isStrings([value].flat()) && ![value].flat().includes('') && [value].flat().length > 0,
    'must be the name of a claim, or the path to it',
  ),
  roles: option(areRoles, 'must be an object that gives each group one role or several, without commas'),
  all: names,
  scope: aString,
  sessionMs: aTime,
  idleMs: aTime,
  recheckMs: aTime,
  unconfirmedMs: aTime,
  insecure: aBoolean,
});

function areRoles(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((roles) => [roles].flat().every(isRole));
}

/** The issuers with their defaults. Throws `invalid-options`. */
export function checkedIssuers(given: readonly SignInIssuer[]): readonly Issuer[] {
  const issuers = given.map(checkedIssuer);
  for (const { name, issuer, clientId } of issuers) {
    if (issuers.filter((other) => other.name === name).length > 1)
      throw invalid(`Two issuers have the name ${name}. Give each of them a \`name\`.`);
    if (issuers.filter((other) => other.issuer === issuer && other.clientId === clientId).length > 1)
      throw invalid(`${issuer} is configured twice with the client ${clientId}.`);
  }
  for (const [index, one] of issuers.entries())
    for (const other of issuers.slice(index + 1)) refuseSamePeople(one, other);
  return issuers;
}

function checkedIssuer(given: SignInIssuer): Issuer {
  checkOptions('`signIn`', Shape, given);
  const url = new URL(given.issuer);
  const mayBePlain = given.insecure === true && isLoopback(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && mayBePlain))
    throw invalid(
      `${given.issuer} must be https. Only an issuer on this machine may be http, with \`insecure: true\`.`,
    );
  if (url.search !== '' || url.hash !== '') throw invalid(`${given.issuer} must not have a query or a fragment.`);
  if (given.issuer === GOOGLE && given.domains === undefined)
    throw invalid('Anyone can have an account at Google. Say whose may sign in: `domains: ["example.com"]`.');
  if (given.domains !== undefined && given.personClaim === 'sub')
    throw invalid('`domains` checks the mail addresses that name people, and with `personClaim: "sub"` none does.');
  const domains = given.domains?.map((domain) => domain.toLowerCase());
  return {
    name: 'sso',
    label: url.host,
    scope: 'openid profile email',
    sessionMs: 12 * HOUR_MS,
    idleMs: 2 * HOUR_MS,
    recheckMs: 5 * MINUTE_MS,
    unconfirmedMs: HOUR_MS,
    ...given,
    ...(domains && { domains }),
  };
}

/** Both would say who ann@example.com is, so the weaker of them could speak for people of the other. */
function refuseSamePeople(one: Issuer, other: Issuer): void {
  if (one.issuer === other.issuer || one.personClaim === 'sub' || other.personClaim === 'sub') return;
  if (one.samePeople && other.samePeople) return;
  const areApart = one.domains && other.domains && !one.domains.some((domain) => other.domains?.includes(domain));
  if (areApart) return;
  throw invalid(
    `${one.name} and ${other.name} could name the same person. Give them \`domains\` that differ, or \`samePeople: true\` if both may.`,
  );
}

/** The domain of Google's own accounts says nothing: the claim \`hd\` names the organisation. */
export const isGoogle = ({ issuer }: Issuer): boolean => issuer === GOOGLE;

const invalid = (message: string): UsageError =>
  new UsageError('invalid-options', { option: 'signIn' }, `Invalid \`signIn\`: ${message}`);
