// The policies and rules that a `countersign.config` file exports, applied to the instance of the agents file.
import type { Agent, Countersign, PolicyConfig, Rule } from 'countersign';
import { CommandFailure, EXIT } from '../failure.ts';

/** What a file exports beside its agents. */
export type FileRules = {
  /** For messages. */
  readonly file: string;
  readonly policies: unknown;
  readonly rules: unknown;
};

export function rulesIn({
  file,
  policies,
  rules,
}: Partial<FileRules> & { readonly file: string }): readonly FileRules[] {
  return policies === undefined && rules === undefined ? [] : [{ file, policies, rules }];
}

/** An instance is loaded once, and may be asked for again. */
const applied = new WeakSet<Countersign>();

/** Defines the policies, then applies the rules. A mistake in them would leave calls unprotected, so it ends the command. */
export function applyFileRules(ai: Countersign, files: readonly FileRules[]): void {
  if (files.length === 0 || applied.has(ai)) return;
  applied.add(ai);
  for (const { file, policies = {}, rules = [] } of files) {
    try {
      if (typeof ai.definePolicy !== 'function' || typeof ai.applyRules !== 'function')
        throw new Error('the agents use a version of countersign without rules. Update it');
      for (const [name, policy] of Object.entries(policies as Readonly<Record<string, PolicyConfig>>))
        ai.definePolicy(name, policy);
      ai.applyRules(rules as readonly Rule[]);
      checkTools(ai, rules as readonly Rule[]);
    } catch (cause) {
      const message = `Invalid \`policies\` or \`rules\` in ${file}: ${(cause as Error).message}`;
      throw new CommandFailure(EXIT.failure, 'agents-file', message, { cause });
    }
  }
}

/** A misspelt name would protect nothing. */
function checkTools(ai: Countersign, rules: readonly Rule[]): void {
  const known = new Set([...ai.agents.values()].flatMap(toolNames));
  const named = rules.flatMap(({ tool = [] }) => tool).filter((name) => !name.includes('*'));
  const unknown = named.filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new Error(`No agent has the tool ${unknown.join(', ')}. Known tools: ${[...known].join(', ') || 'none'}.`);
}

const toolNames = ({ definition }: Agent): readonly string[] => [
  ...(definition.innerTools?.('leave-out').keys() ?? []),
];
