// Who the claims of an issuer say a person is, and which roles they have. What is not understood or not verified names nobody.
import { UsageError } from 'countersign';
import { type Identified, isPersonId, isRole, MOST_ROLES } from '../identity/person.ts';
import { type Issuer, isGoogle } from './issuers.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** `idToken` is signed for this client. `info` is what the issuer says beside it, about the same subject. */
export function personOfClaims(issuer: Issuer, idToken: Claims, info: Claims = {}): Omit<Identified, 'context'> {
  const claims = { ...info, ...idToken };
  const id = idIn(issuer, idToken, info);
  if (!isPersonId(id)) throw refused(issuer, 'it gives a name of more than 200 characters');
  const groups = valuesAt(claims, [issuer.rolesClaim ?? 'groups'].flat());
  const name = [claims.name, claims.preferred_username].find((one) => typeof one === 'string' && one !== '');
  return {
    id,
    name: typeof name === 'string' ? name.slice(0, 200) : null,
    roles: rolesOf(issuer, groups).filter(isRole).slice(0, MOST_ROLES),
    reach: issuer.all?.some((group) => groups.includes(group)) ? 'all' : 'own',
  };
}

function idIn(issuer: Issuer, idToken: Claims, info: Claims): string {
  const { personClaim = 'email', domains } = issuer;
  // The address and the claim that it is verified must come from the same answer.
  const source = idToken[personClaim] === undefined ? info : idToken;
  const value = source[personClaim];
  const isMissing = personClaim === 'email' && value === undefined && domains === undefined;
  if (personClaim === 'sub' || isMissing) return `${issuer.issuer}#${idToken.sub}`;
  // Such a name could be that of a subject of another issuer.
  if (typeof value !== 'string' || value === '' || value.includes('://'))
    throw refused(issuer, `its claim \`${personClaim}\` names nobody`);
  if (personClaim === 'email' && source.email_verified !== true)
    throw refused(issuer, 'it has not verified the mail address');
  const id = value.toLowerCase();
  const domain = isGoogle(issuer) ? String({ ...info, ...idToken }.hd ?? '').toLowerCase() : afterAt(id);
  const areBoth = [domain, afterAt(id)].every((one) => domains?.includes(one) ?? true);
  if (!areBoth) throw refused(issuer, 'people of this domain may not sign in here');
  return id;
}

const afterAt = (id: string): string => (id.includes('@') ? id.slice(id.lastIndexOf('@') + 1) : '');

function rolesOf({ roles, rolesClaim }: Issuer, groups: readonly string[]): readonly string[] {
  if (roles) return groups.flatMap((group) => (Object.hasOwn(roles, group) ? (roles[group] ?? []) : []));
  return rolesClaim === undefined ? [] : groups;
}

/** The texts of a claim, one or a list, at this path. Anything else gives nothing. */
export function valuesAt(claims: Claims, path: readonly string[]): readonly string[] {
  let value: unknown = claims;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return [];
    value = (value as Claims)[key];
  }
  return [value].flat().filter((one) => typeof one === 'string');
}

const refused = ({ label }: Issuer, why: string): UsageError =>
  new UsageError('not-allowed', { status: 403 }, `${label} does not say who you are: ${why}.`);
