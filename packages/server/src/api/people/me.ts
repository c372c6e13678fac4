// The caller and the agents: /me and /agents.

import { z } from '@hono/zod-openapi';
import type { Agent, Countersign } from 'countersign';
import { internalsOf } from 'countersign/store';
import { endpoint, json } from '../../http/endpoint.ts';
import { type AgentInfo, AgentShape, type Me, MeShape } from '../../schemas/person.ts';
import type { Services } from '../services.ts';

export function personEndpoints({ ai, model }: Services) {
  return [
    endpoint({
      route: 'GET /me',
      operationId: 'getMe',
      summary: 'Get the caller',
      tag: 'People and agents',
      scope: null,
      answers: { 200: { description: 'The person or program that the server identified.', shape: MeShape } },
      handle: ({ person: { id, name, scopes, reach, roles } }) => {
        const me: Me = { id, name, scopes: [...scopes], reach, roles: [...roles], demo: model.demo, model: model.name };
        return json(me);
      },
    }),
    endpoint({
      route: 'GET /agents',
      operationId: 'listAgents',
      summary: 'List the agents and their tools',
      tag: 'People and agents',
      scope: null,
      answers: { 200: { description: 'Every agent.', shape: z.object({ items: z.array(AgentShape) }) } },
      handle: () => json({ items: [...ai.agents.values()].map((agent) => agentInfo(ai, agent)) }),
    }),
  ];
}

type Definition = Agent['definition'];

function agentInfo(ai: Countersign, { name, definition, suggestions }: Agent): AgentInfo {
  const tools = [...(definition.innerTools?.().values() ?? [])];
  return {
    name,
    description: definition.spec().description,
    suggestions: [...suggestions],
    tools: tools.map((tool) => ({ name: tool.name, description: tool.spec().description, asks: asksOf(ai, tool) })),
  };
}

function asksOf(ai: Countersign, definition: Definition): AgentInfo['tools'][number]['asks'] {
  const { body, needsApproval } = definition;
  if (!body) return 'question';
  const byRule = internalsOf(ai).policies.asksByRule(definition);
  if (byRule === 'always' || (needsApproval && typeof needsApproval !== 'function')) return 'always';
  return needsApproval ? 'sometimes' : byRule;
}
