// Errors as problem+json, with details that help approvers.
import { CountersignError, UsageError } from 'countersign';
import { problemOf as plainProblemOf, problemsOf } from 'countersign/ui';
import type { ApiProblem } from '../schemas/problem.ts';

export function problemOf(error: unknown): ApiProblem {
  const plain = plainProblemOf(error);
  const { status, code } = plain;
  const details = error instanceof CountersignError ? error.details : {};
  return {
    ...plain,
    ...(error instanceof UsageError &&
      (status === 422 || isProblemList(details.problems)) && { problems: problemList(error) }),
    ...(code === 'already-decided' && 'settlement' in details && { settlement: details.settlement }),
    ...(code === 'start-refused' && { gate: details.gate as NonNullable<ApiProblem['gate']> }),
    ...(code === 'claimed' && { assignee: details.assignee as NonNullable<ApiProblem['assignee']> }),
  };
}

export function problemResponse(error: unknown, requestId?: string): Response {
  const plain = problemOf(error);
  const isLogged = plain.status === 500 && requestId !== undefined;
  const problem = isLogged
    ? { ...plain, detail: `${plain.detail} See the server log for request id ${requestId}.` }
    : plain;
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: {
      'content-type': 'application/problem+json',
      ...(problem.status === 401 && { 'www-authenticate': 'Bearer' }),
      ...headersOf(error),
    },
  });
}

function problemList(error: UsageError): NonNullable<ApiProblem['problems']> {
  const own = error.details.problems;
  const list = isProblemList(own) ? own : problemsOf(error);
  return list.map(({ path, message }) => ({ path: path.map(String), message }));
}

function isProblemList(list: unknown): list is { path: string[]; message: string }[] {
  return Array.isArray(list) && list.every((item) => typeof item === 'object' && item !== null && 'path' in item);
}

/** The only headers that an error may set: `details` of an error from a hook may hold anything. */
const ERROR_HEADERS = ['allow', 'connection', 'retry-after'];

function headersOf(error: unknown): Record<string, string> {
  const asked = error instanceof CountersignError ? error.details.headers : undefined;
  if (typeof asked !== 'object' || asked === null) return {};
  return Object.fromEntries(
    Object.entries(asked).flatMap(([name, value]) => (ERROR_HEADERS.includes(name) ? [[name, String(value)]] : [])),
  );
}
