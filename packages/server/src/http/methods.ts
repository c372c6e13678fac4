// The methods that a path allows, and the error for the others.
import { UsageError } from 'countersign';

type Route = { readonly method: string; readonly path: string };

export function allowedMethods(routes: readonly Route[], path: string): readonly string[] {
  const found = routes.filter(
    ({ method, path: pattern }) => method !== 'ALL' && !pattern.includes('*') && matches(pattern, path),
  );
  return [...new Set(found.map(({ method }) => method))];
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => (part.startsWith(':') ? given[index] !== '' : part === given[index]))
  );
}

export function methodNotAllowed(method: string, allow: readonly string[]): UsageError {
  return new UsageError(
    'method-not-allowed',
    { status: 405, headers: { allow: allow.join(', ') } },
    `${method.slice(0, 20)} is not allowed here.`,
  );
}
