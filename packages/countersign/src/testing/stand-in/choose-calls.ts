// Chooses the tools that a message asks for, by the words of their names, descriptions and properties.
import { isObject } from '../../core/json.ts';
import type { ToolSpec } from '../../models/model.ts';
import { type Filled, fillSchema, type Missing } from './fill-schema.ts';
import { isThing, messageValues } from './message-values.ts';
import { actionsOf, stemOf, topicsOf, wordsOf } from './words.ts';

export type ChosenCall = { readonly tool: ToolSpec; readonly input: unknown };

/** A call that the message asks for without naming these values. */
export type LackingCall = { readonly tool: ToolSpec; readonly missing: readonly Missing[] };

export type Chosen = { readonly calls: readonly ChosenCall[]; readonly lacking: readonly LackingCall[] };

/** One call for each request in the message whose values it names; none if no tool fits. `known`: what else was said. */
export function chooseCalls(message: string, tools: readonly ToolSpec[], known: string): Chosen {
  const filled = requestsIn(message, tools, known).map((request) => ({ ...request, ...filledBy(request, known) }));
  const calls = filled.filter(isComplete).map(({ tool, value: input }) => ({ tool, input }));
  return {
    calls: calls.filter((call, index) => calls.findIndex((other) => isSame(call, other)) === index),
    lacking: filled.filter((request) => !isComplete(request)).map(({ tool, missing }) => ({ tool, missing })),
  };
}

/** The call of the tool that fits best, or of the first one, for a model that must call one. What is missing is made up. */
export function forceCall(message: string, tools: readonly ToolSpec[], known: string): readonly ChosenCall[] {
  const { calls } = chooseCalls(message, tools, known);
  const tool = requestsIn(message, tools, known)[0]?.tool ?? tools[0];
  if (calls.length > 0 || !tool) return calls;
  return [{ tool, input: filledBy({ tool, text: message }, known).value }];
}

/** The message asks for this tool with a verb of it: `Pay Birch` asks for `payInvoice`, and `950 euros` does not. */
export const isAskedFor = (message: string, tool: ToolSpec): boolean =>
  clausesOf(message).some((clause) => asksAgain(clause, tool));

const isSame = (one: ChosenCall, other: ChosenCall): boolean =>
  one.tool === other.tool && JSON.stringify(one.input) === JSON.stringify(other.input);

function filledBy({ tool: { name, inputSchema }, text }: Request, known: string): Filled {
  const labels = propertyNames(inputSchema).flatMap(wordsOf);
  return fillSchema(inputSchema, messageValues(fromVerb(text, name), { labels, verb: wordsOf(name), known }));
}

const isComplete = ({ missing }: Filled): boolean => missing.length === 0;

/** `Ask the clerk to pay ACME` asks `pay` for `pay ACME`. */
function fromVerb(text: string, name: string): string {
  const verb = stemOf(wordsOf(name)[0] ?? '');
  const found = [...text.matchAll(/\p{L}+/gu)].find(([word]) => stemOf(word.toLowerCase()) === verb);
  return found === undefined ? text : text.slice(found.index);
}

const propertyNames = ({ properties }: ToolSpec['inputSchema']): readonly string[] =>
  isObject(properties) ? Object.keys(properties) : [];

type Request = { readonly tool: ToolSpec; readonly text: string };

/**
 * Each clause is a request of its own if it names a tool, or all values of another call of the tool before. Otherwise it adds to the
 * request before: a verb that comes twice asks for one call.
 */
function requestsIn(message: string, tools: readonly ToolSpec[], known: string): readonly Request[] {
  const requests: Request[] = [];
  for (const clause of clausesOf(message)) {
    const last = requests.at(-1);
    const tool = bestTool(clause, tools, last === undefined ? ANY_WORD : A_NAME);
    if (tool && tool !== last?.tool) requests.push({ tool, text: clause });
    else if (last) {
      const again = tool && asksAgain(clause, tool) ? clause : repetition(clause, last);
      const next = again === undefined ? undefined : { tool: last.tool, text: again };
      if (!next || !isComplete(filledBy(next, known)))
        requests.splice(-1, 1, { tool: last.tool, text: `${last.text.replace(/[,;]$/, '')}, ${clause}` });
      // A request that was only announced: `I have a payment for you. Pay ACME 950 euros.`
      else if (!isComplete(filledBy(last, known))) requests.splice(-1, 1, next);
      else requests.push(next);
    }
  }
  return requests;
}

/** Cuts at `and`, `then`, semicolons, commas and sentences, but not inside quotes or reported speech. */
function clausesOf(message: string): readonly string[] {
  const speech = message.search(/["“]|\b(?:that|saying)\s|:\s/i);
  const cut = speech < 0 ? message.length : speech;
  const parts = message
    .slice(0, cut)
    .split(/(?<=[.!?;,])\s+(?:and\s+|then\s+)*|\s+(?:and(?:\s+then)?|then)\s+/i)
    .reduce<readonly string[]>(joinNames, []);
  const last = `${parts.at(-1) ?? ''}${message.slice(cut)}`;
  return [...parts.slice(0, -1), last].map((part) => part.trim().replace(POLITE, '')).filter((part) => part !== '');
}

/** `Pay Smith and Sons 950` pays one company, and `Pay Smith 500 and Sons 950` two: each has an amount. */
function joinNames(parts: readonly string[], next: string): readonly string[] {
  const last = parts.at(-1) ?? '';
  const isOne = !/\d/.test(last) || !/\d/.test(next);
  const isName = isOne && /(?<=\S\s)\p{Lu}[\p{L}'&-]*$/u.test(last) && /^\p{Lu}/u.test(next);
  return isName ? [...parts.slice(0, -1), `${last} and ${next}`] : [...parts, next];
}

const POLITE = /^(?:(?:please|kindly|can|could|would|will|you|i|want|need|like|to|hello|hi|hey|now)\b\W*)+/i;

/** `room 12` gives a value to `bookRoom`; `book room 12` asks for it again. */
function asksAgain(clause: string, { name }: ToolSpec): boolean {
  const [verb = ''] = wordsOf(name);
  const does = actionsOf(verb);
  return wordsOf(clause)[0] === verb || [...actionsOf(clause)].some((action) => does.has(action));
}

/** A name and an amount, or an e-mail address: another payment, another mail. */
function repetition(clause: string, { tool: { inputSchema }, text }: Request): string | undefined {
  const { numbers, names, emails } = messageValues(`Again ${clause}`);
  const own = topicsOf(propertyNames(inputSchema).join(' '));
  const amounts = numbers.filter(({ isIdentifier, beside }) => !isIdentifier && !beside.some((word) => own.has(word)));
  const isRepeated = emails.length > 0 || (amounts.length > 0 && names.some((name) => !isThing(name)));
  return isRepeated ? `${firstWord(text)} ${clause}` : undefined;
}

const firstWord = (text: string): string => /^\s*\S+/.exec(text)?.[0].trim() ?? '';

/** The smallest scores that choose a tool: one word of its description, or one of its name. */
const ANY_WORD = 1;
const A_NAME = 4;

function bestTool(text: string, tools: readonly ToolSpec[], least: number): ToolSpec | undefined {
  let best: { readonly tool: ToolSpec; readonly score: number } | undefined;
  for (const tool of tools) {
    const score = scoreOf(text, tool);
    if (score >= least && score > (best?.score ?? 0)) best = { tool, score };
  }
  return best?.tool;
}

function scoreOf(text: string, { name, description, inputSchema }: ToolSpec): number {
  if (` ${wordsOf(text).join(' ')} `.includes(` ${wordsOf(name).join(' ')} `)) return 100 + name.length;
  const said = topicsOf(text);
  const actions = actionsOf(text);
  const does = actionsOf(wordsOf(name)[0] ?? '');
  // `Delete invoice 7` does not ask for `payInvoice`.
  if (actions.size > 0 && does.size > 0 && ![...does].some((action) => actions.has(action))) return 0;
  const inName = [...topicsOf(name)];
  const matched = inName.filter((word) => said.has(word)).length;
  const acts = [...does].some((action) => actions.has(action)) ? 1 : 0;
  const described = [...topicsOf(description)].filter((word) => said.has(word)).length;
  const filled = [...topicsOf(propertyNames(inputSchema).join(' '))].filter((word) => said.has(word)).length;
  return 4 * Math.max(matched, acts) + 0.5 * acts + matched / (inName.length || 1) + described + 0.5 * filled;
}
