// How the runs of an agent are driven, from its configuration.
import type { AgentConfig } from '../../loop/agent.ts';
import { prepareDriver, type Settings } from '../../loop/options.ts';
import type { UnknownNames } from '../../loop/tool/definition.ts';
import { asSchema } from '../../loop/tool/schema.ts';
import { findTools } from '../../loop/tool/toolbox.ts';
import type { AgentPort } from './open-run.ts';

/** Names are looked up on use, so that agents can refer to each other. */
export function agentPort(config: AgentConfig, settings: () => Settings, unknown: UnknownNames): AgentPort {
  return {
    name: config.name,
    limits: { maxTurns: config.maxTurns ?? settings().maxTurns },
    whilePending: config.whilePending,
    onEvent: config.onEvent,
    driver: (context) => {
      const schema = config.output && asSchema(config.output.schema, 'output.schema');
      return prepareDriver(settings(), { ...config, ...(context && { context }) }, schema, unknown);
    },
    tools: () => findTools(config.tools, settings().tools, unknown),
    defined: () => settings().tools,
  };
}
