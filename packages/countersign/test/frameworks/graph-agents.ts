// Agents of LangChain and LangGraph with a scripted model, for the tests of `countersign/langgraph`.
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import type { StructuredToolInterface } from '@langchain/core/tools';
import { type BaseCheckpointSaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { createReactAgent, ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { withdrawAbandoned, withdrawMiddleware } from 'countersign/langgraph';
import { createAgent, createMiddleware } from 'langchain';

export type ScriptedCall = { readonly id: string; readonly name: string; readonly args: Record<string, unknown> };

/** Answers the nth user message with the nth list of calls, then with the results. */
export class ScriptedModel extends BaseChatModel {
  readonly script: readonly (readonly ScriptedCall[])[];
  readonly seen: BaseMessage[][] = [];

  constructor(script: readonly (readonly ScriptedCall[])[]) {
    super({});
    this.script = script;
  }

  override _llmType(): string {
    return 'scripted';
  }

  override bindTools(): never {
    return this as never;
  }

  override async _generate(messages: BaseMessage[]) {
    this.seen.push(messages);
    const turn = messages.filter((message) => HumanMessage.isInstance(message)).length - 1;
    const results = messages.filter((message) => ToolMessage.isInstance(message));
    const last = messages.at(-1);
    const message = ToolMessage.isInstance(last)
      ? new AIMessage(results.map(({ content }) => content).join(' | '))
      : new AIMessage({
          content: '',
          tool_calls: (this.script[turn] ?? []).map((call) => ({ ...call, args: { ...call.args } })),
        });
    return { generations: [{ text: String(message.content), message }] };
  }
}

export type AgentParts = {
  readonly model: ScriptedModel;
  readonly tools: StructuredToolInterface[];
  readonly checkpointer: BaseCheckpointSaver;
};

export type Graph = {
  invoke(input: any, config: any): Promise<any>;
  getState(config: any): Promise<any>;
};

export const KINDS = {
  createAgent: ({ model, tools, checkpointer }: AgentParts): Graph =>
    createAgent({ model, tools, checkpointer, middleware: [createMiddleware(withdrawMiddleware(tools))] }) as never,
  createReactAgent: ({ model, tools, checkpointer }: AgentParts): Graph =>
    createReactAgent({
      llm: model,
      tools,
      checkpointSaver: checkpointer,
      preModelHook: ((state: { messages: BaseMessage[] }, config: object) =>
        withdrawMiddleware(tools)
          .beforeModel(state, config)
          .then((update) => update ?? {})) as never,
    }) as never,
  'a graph with a ToolNode': ({ model, tools, checkpointer }: AgentParts): Graph =>
    new StateGraph(MessagesAnnotation)
      .addNode('model', async ({ messages }, config) => {
        const complete = await withdrawAbandoned(tools, messages, config);
        return { messages: [await model.invoke(complete)] };
      })
      .addNode('tools', new ToolNode(tools))
      .addEdge(START, 'model')
      .addConditionalEdges('model', toolsCondition)
      .addEdge('tools', 'model')
      .compile({ checkpointer }) as never,
};
