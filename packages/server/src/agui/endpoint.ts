// POST /agui/{agent}: runs an agent for AG-UI clients. The run is a chat in the store, so everything the chat promises holds.

import { z } from '@hono/zod-openapi';
import { type ErrorCode, UsageError } from 'countersign';
import { internalsOf } from 'countersign/store';
import type { HttpProblem, LoadedChat } from 'countersign/ui';
import { createChats } from '../api/chats.ts';
import { unknownAgent } from '../api/runs/run-answer.ts';
import type { Services } from '../api/services.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Person } from '../identity/person.ts';
import { nameShape } from '../schemas/page.ts';
import { newUserMessage, RunInputShape } from './input.ts';
import { resume } from './resume.ts';
import { findThread, type Thread } from './thread.ts';

export function agUiEndpoints(services: Services) {
  const { ai, access, log, keepAliveMs } = services;
  const chats = createChats(services);

  /** The chat of a run, as this person may use it. */
  function chatOf({ runId: chatId, run }: Thread, agent: string, person: Person, request: Request) {
    const { signal } = request;
    const look = (what: '' | '/stream') => {
      const path = new Request(new URL(`/${chatId}${what}`, request.url), { signal });
      return chats.look({ agent, person, request: path }, chatId, what);
    };
    return {
      load: async (): Promise<LoadedChat> => {
        const answer = await look('');
        if (answer.ok) return (await answer.json()) as LoadedChat;
        if (answer.status === 404 && !run) return { id: chatId, status: 'done', version: 0, messages: [] };
        const { code, status, detail } = (await answer.json()) as HttpProblem;
        throw new UsageError(code as ErrorCode, { status, runId: chatId }, detail);
      },
      stream: () => look('/stream'),
      post: (messages: readonly { readonly role: string }[]) =>
        chats.post({ agent, person, request }, { id: chatId, messages }),
    };
  }

  return [
    endpoint({
      route: 'POST /agui/{agent}',
      operationId: 'runAgUi',
      summary: 'Run an agent for an AG-UI client',
      description:
        'Speaks AG-UI 1.0. Only the new message of the user and the answers in `resume` count; the record has the rest of the ' +
        'conversation. Sending a message also needs the scope `start`, deciding the scope `decide`. See `docs/guides/ag-ui.md`.',
      tag: 'Chat',
      scope: 'read',
      params: z.object({ agent: nameShape }),
      body: RunInputShape,
      answers: {
        200: {
          description: 'The events of the run.',
          shape: z.string(),
          type: 'text/event-stream',
        },
      },
      problems: [409],
      handle: async ({ params: { agent }, body: input, person, request }) => {
        if (!ai.agents.has(agent)) throw unknownAgent(agent);
        const { runStream } = await import('./run-stream.ts');
        const thread = await findThread(access, agent, input.threadId, person);
        const { runId, run } = thread;
        const chat = chatOf(thread, agent, person, request);
        const recorded = run ? (await chat.load()).messages : [];
        const said = newUserMessage(input, recorded);
        const maySteer = await access.maySteer(run ?? { id: runId, agent, startedBy: person.id }, person);
        if (said && !maySteer)
          throw new UsageError(
            'not-allowed',
            { status: 403, runId },
            'You can read this thread but not send messages.',
          );
        if (!run && !said && input.resume?.length) throw unknownThread(input.threadId);
        // The model's reply is only streamed if someone listens when it starts, which the first decision may cause.
        const stopListening = internalsOf(ai.runs).listen(runId, () => undefined);
        try {
          const resuming = { runId, person, address: services.addressOf(request) };
          const refused = await resume(services, resuming, input.resume ?? []);
          // Without the right to steer, a person only watches what their decision leads to. A new thread has nothing to show.
          const streamed = said || (run && maySteer) ? await chat.post(said ? [said] : []) : await chat.stream();
          if (!streamed.ok) return streamed;
          const errorCode = async () => (await ai.runs.get(runId)).error?.code;
          const onFault = (error: unknown) => log('error', 'agui', { runId, error });
          const { load, stream: again } = chat;
          const before = said ? [...recorded, said] : recorded;
          return runStream(
            { input, runId, before, refused, streamed, load, again, errorCode, onFault, keepAliveMs },
            request,
          );
        } finally {
          stopListening();
        }
      },
    }),
  ];
}

const unknownThread = (threadId: string): UsageError =>
  new UsageError('unknown-run', { status: 404, threadId }, `Thread ${threadId.slice(0, 200)} not found.`);
