// The types of `countersign.config.ts` and of the function that an agents file exports.
import type { ModelInput, PolicyConfig, Providers, Rule } from 'countersign';
import type { Store } from 'countersign/store';
import type { ServerChannel } from './channels/server-channel.ts';
import type { McpRules } from './mcp-gate/rules.ts';
import type { AppOptions } from './options.ts';
import type { SignInIssuer } from './sign-in/issuers.ts';

/** The settings of a project, which `countersign serve`, `dev` and `worker` apply to the agents in `agents.ts` beside them. */
export type Config = {
  /** Policies by name; see `ai.definePolicy`. */
  readonly policies?: Readonly<Record<string, PolicyConfig>>;
  /** Makes calls ask by tool, label, risk or reversibility. */
  readonly rules?: readonly Rule[];
  /** The channels of notices about requests. */
  readonly channels?: readonly ServerChannel[];
  /** The accounts of your organisation that people sign in with, by OpenID Connect. */
  readonly signIn?: readonly SignInIssuer[];
  /** Options of the server. */
  readonly server?: AppOptions;
  /** The rules of `countersign mcp gate`. */
  readonly mcp?: McpRules;
};

/**
 * The settings of a project, with their types.
 * @example
 * export default defineConfig({
 *   channels: [mail({ smtp: 'smtp://localhost:587', from: 'approvals@example.com' })],
 * });
 */
export function defineConfig(config: Config): Config {
  return config;
}

/**
 * Passed to the function that an agents file exports, so that the same agents work on any store and model.
 * @example
 * export default ({ store, model, providers }: AgentsEnvironment) => {
 *   const ai = countersign({ store, model, providers });
 *   ai.defineAgent({ name: 'assistant', tools: [] });
 *   return ai;
 * };
 */
export type AgentsEnvironment = {
  /** The store chosen on the command line. */
  readonly store: Store;
  /** The model from COUNTERSIGN_MODEL, or of the provider whose key is set, or the stand-in model. */
  readonly model: ModelInput;
  readonly providers: Providers;
  readonly env: Readonly<Record<string, string | undefined>>;
};
