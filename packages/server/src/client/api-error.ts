// Errors of the API client.
import type { ApiProblem } from '../schemas/problem.ts';

/** The server refused the request or could not be reached (`status` 0, `code` `unreachable`). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** Stable: match on it, not on the message. */
  readonly code: string;
  /** The problem that the server sent. */
  readonly problem: ApiProblem | undefined;

  constructor(status: number, code: string, message: string, problem?: ApiProblem, options?: { cause?: unknown }) {
    super(message, options);
    this.status = status;
    this.code = code;
    this.problem = problem;
  }
}

export async function errorOf(response: { status: number; text(): Promise<string> }): Promise<ApiError> {
  const { status } = response;
  const problem = readProblem(await response.text().catch(() => ''));
  const message = problem?.detail ?? `The server answered ${status}.`;
  return new ApiError(status, problem?.code ?? 'unknown', message, problem);
}

function readProblem(text: string): ApiProblem | undefined {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === 'object' && read !== null && 'code' in read ? (read as ApiProblem) : undefined;
  } catch {
    // The response may come from a proxy.
    return undefined;
  }
}
