// How a person is shown: by name, with the id beside it. Names are only shown; ids decide.

/** The names of people by their ids. A person whose name is not known is left out. */
export type Names = { readonly [person: string]: string };

/** As in `Ann Lee (ann)`; the id alone if no name is known. Untrusted text. */
export function personText(id: string, names?: Names): string {
  const name = nameIn(id, names);
  return name === undefined ? id : `${name} (${id})`;
}

/** Undefined if no name is known, or it says no more than the id. */
export function nameIn(id: string, names: Names = {}): string | undefined {
  const name = Object.hasOwn(names, id) ? names[id] : undefined;
  return name === id ? undefined : name;
}

/** A name that can be shown: one line, not too long. */
export function asName(given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined;
  const name = given.trim();
  return name !== '' && name.length <= LONGEST && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name) ? name : undefined;
}

const LONGEST = 100;
