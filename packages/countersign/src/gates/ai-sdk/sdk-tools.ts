// AI SDK tools as the gate knows them: how their calls ask, and what runs once a person approved.
import { asSchema, type ToolSet } from 'ai';
import { defined } from '../../core/json.ts';
import { askProblem } from '../../loop/tool/ask-options.ts';
import type { ToolDefinition } from '../../loop/tool/definition.ts';
import type { StandardSchema } from '../../loop/tool/schema.ts';
import { aTitle } from '../../loop/tool/title.ts';
import type { JsonSchema } from '../../models/model.ts';
import type { GateBody } from '../../runs/gates/gate.ts';
import { shortHash } from '../../runs/port/chain.ts';
import { askingTool, type GateToolsOptions } from '../gated-calls.ts';
import { ownTool } from './approval-rules.ts';
import { type CheckedInput, checkInput, checkOutput } from './input.ts';
import { type AskedCall, callKey } from './ledger.ts';

export type Body = (input: any, toolCallId: string) => unknown;

export class SdkTools {
  readonly label: string;
  readonly #tools: ToolSet;
  readonly #bodies: ReadonlyMap<string, Body>;
  readonly #options: GateToolsOptions<any>;
  readonly #vouched = new Set<string>();

  constructor(tools: ToolSet, bodies: ReadonlyMap<string, Body>, options: GateToolsOptions<any>) {
    this.#tools = tools;
    this.#bodies = bodies;
    this.#options = options;
    this.label = labelOf(options.key);
  }

  /** Accepts the input of this call: the AI SDK has just validated it, and may have transformed it. */
  vouch(call: AskedCall): void {
    this.#vouched.add(callKey(call));
  }

  hasBody(name: string): boolean {
    return this.#bodies.has(name);
  }

  /** Undefined for a tool that does not exist here. */
  async definition(name: string): Promise<ToolDefinition | undefined> {
    const sdkTool = ownTool(this.#tools, name);
    return sdkTool && this.define(name, sdkTool, await jsonOf(sdkTool.inputSchema), await jsonOf(sdkTool.outputSchema));
  }

  define(name: string, sdkTool: ToolSet[string], input: JsonSchema = {}, output: JsonSchema = {}): ToolDefinition {
    const isVouched = (value: unknown) => this.#vouched.has(callKey({ tool: name, input: value }));
    const given = {
      name,
      ...defined({ title: aTitle.fits(sdkTool.title) ? sdkTool.title : undefined }),
      labels: [this.label],
      // The AI SDK cannot ask twice about one call.
      ...(this.#options.preview?.[name] && { onPreviewChange: 'reject' as const }),
      inputSchema: checking(async (value) => isVouched(value) || checkInput(name, sdkTool, value)),
      inputJsonSchema: input,
      outputSchema: checking(async (value) => value instanceof Returned || checkOutput(name, sdkTool, value)),
      outputJsonSchema: output,
    };
    const body = this.#bodies.get(name);
    return askingTool(given, this.#options, body && bodyOf(body)).definition;
  }
}

/** A body of the AI SDK at the gate. */
export function bodyOf(body: Body): GateBody {
  return async (input, { metadata }) => new Returned(await body(input, String(metadata.toolCallId)));
}

/** Approvers see it in the inbox, so it is the conversation itself if that is a valid label. */
function labelOf(key: string): string {
  const label = `chat ${key}`;
  return askProblem({ labels: [label] }) === undefined ? label : `chat ${shortHash(key)}`;
}

/** For people who edit the input elsewhere. A schema that cannot say it is checked here only. */
async function jsonOf(schema: ToolSet[string]['inputSchema'] | undefined): Promise<JsonSchema> {
  try {
    return schema ? ((await asSchema(schema).jsonSchema) as JsonSchema) : {};
  } catch {
    return {};
  }
}

/** The output of a body. The AI SDK does not validate it; an output that a person enters is validated. */
class Returned {
  readonly output: unknown;

  constructor(output: unknown) {
    this.output = output;
  }
}

/** A schema that validates but does not transform: an input runs as recorded. */
function checking(check: (value: unknown) => Promise<true | CheckedInput>): StandardSchema {
  return {
    '~standard': {
      version: 1,
      vendor: 'ai-sdk',
      async validate(value) {
        const checked = await check(value);
        if (checked !== true && !checked.ok) return { issues: checked.problems.map((message) => ({ message })) };
        return { value: value instanceof Returned ? value.output : value };
      },
    },
  };
}
