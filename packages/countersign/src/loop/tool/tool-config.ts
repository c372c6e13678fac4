// Whether a tool can be what it is said to be. What protects must be clear: nothing of it is guessed or dropped.
import { UsageError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { refuseUnknownKeys } from '../../core/known-keys.ts';
import { askOptionsOf, askProblem, isDuration } from './ask-options.ts';

/** `known` are the names of everything that the config may have. */
export function checkToolConfig(config: unknown, body: unknown, known: readonly string[]): void {
  const given = isObject(config) ? config : {};
  const { name } = given;
  if (typeof name !== 'string' || !/^[\w-]{1,128}$/.test(name))
    throw new UsageError(
      'invalid-options',
      { name },
      `A tool's name must be letters, digits, "_" or "-", not ${JSON.stringify(name)}.`,
    );
  // As the AI SDK has it; its names alone would not say where the function goes.
  if ('execute' in given)
    throw new UsageError(
      'invalid-options',
      { name },
      `The tool ${name} takes no execute. Pass the function as its body, behind the options: tool({ … }, body).`,
    );
  refuseUnknownKeys(`The tool ${name}`, given, known);
  if (body !== undefined && typeof body !== 'function')
    throw new UsageError(
      'invalid-options',
      { name },
      `The body of tool ${name} must be a function, not a ${typeof body}.`,
    );
  const problem = askProblem(askOptionsOf(given));
  if (problem !== undefined)
    throw new UsageError(
      'invalid-options',
      { name },
      `The questions of tool ${name} cannot wait like that: ${problem}.`,
    );
  for (const [field, { is, fits }] of Object.entries(FIELDS))
    if (field in given && !fits(given[field]))
      throw new UsageError(
        'invalid-options',
        { name },
        `${field} of tool ${name} must be ${is}, not ${String(given[field])}.`,
      );
  const idle = body === undefined ? Object.keys(FIELDS).find((field) => isSaid(given[field])) : undefined;
  if (idle !== undefined)
    throw new UsageError(
      'invalid-options',
      { name },
      `The tool ${name} has no body that ${idle} could be about. Pass the body behind the options, or leave ${idle} out: then it is a question.`,
    );
  if (isSaid(given.settlesWithin) && !isSaid(given.verify))
    throw new UsageError(
      'invalid-options',
      { name },
      `settlesWithin of tool ${name} says when \`verify\` can be believed that it found nothing. Pass \`verify\` too, or leave it out.`,
    );
}

const isSaid = (value: unknown): boolean => value !== undefined && value !== false;

type Field = { readonly is: string; readonly fits: (value: unknown) => boolean };

const FLAG: Field = { is: 'true or false', fits: (value) => value === undefined || typeof value === 'boolean' };

const FIELDS: Readonly<Record<string, Field>> = {
  // A rule that was looked up and not found is no rule: left undefined, it would let every call run unasked.
  needsApproval: {
    is: 'true, false or a function',
    fits: (value) => typeof value === 'boolean' || typeof value === 'function',
  },
  idempotent: FLAG,
  commits: FLAG,
  verify: { is: 'a function', fits: (value) => value === undefined || typeof value === 'function' },
  settlesWithin: { is: 'a number of milliseconds', fits: isDuration },
};
