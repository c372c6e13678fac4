// The title of a request, computed once, when the request is recorded.

import { messageOf } from '../../core/errors.ts';
import { isThenable, shown } from '../../core/options.ts';
import type { Bound } from '../../core/request/request.ts';
import type { Call } from '../../core/run/call.ts';
import type { ToolDefinition } from '../tool/definition.ts';
import { asTitle, LONGEST_TITLE, shortTitle } from '../tool/title.ts';
import { warn } from '../warning.ts';
import { validInput } from './bound-input.ts';

/** The title of the request itself, otherwise that of its tool. A title that cannot be used is left out, with a warning. */
export function titleOf(
  tool: ToolDefinition | undefined,
  call: Call,
  bound: Bound,
  given: unknown,
): string | undefined | Promise<string | undefined> {
  const own = readTitle(call.name, given);
  if (own !== undefined || !tool) return own;
  const { title } = tool;
  return typeof title === 'function' ? computed(tool, title, call, bound) : readTitle(call.name, title);
}

/** The function gets the input as the body would get it, parsed again, so that it can change only its own copy. */
async function computed(
  tool: ToolDefinition,
  title: (input: unknown) => unknown,
  call: Call,
  { runsWith }: Bound,
): Promise<string | undefined> {
  try {
    const input = await validInput(tool, { ...call, runsWith });
    return input.ok ? readTitle(call.name, title(input.value)) : undefined;
  } catch (error) {
    return without(call.name, `its function threw: ${messageOf(error).slice(0, LONGEST_TITLE)}`);
  }
}

function readTitle(tool: string, title: unknown): string | undefined {
  if (title === undefined) return undefined;
  if (isThenable(title)) title.then(undefined, () => undefined);
  if (typeof title !== 'string') return without(tool, `it must be a text, not ${shown(title)}`);
  const line = asTitle(title);
  return line === '' ? undefined : shortTitle(line);
}

function without(tool: string, problem: string): undefined {
  warn(`A request of ${tool} has no title: ${problem}.`);
}
