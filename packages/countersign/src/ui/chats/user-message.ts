// The user's messages in a stored chat: how they are recorded, and whether one was recorded before.
import { sameJson } from '../../core/json.ts';
import type { Message, Part } from '../../core/messages/message.ts';
import type { State } from '../../core/run/state.ts';
import type { PostedMessage } from '../http/post.ts';
import { MESSAGE_ID, REGENERATES } from '../picture/picture.ts';

export function userMessage({ id, content }: PostedMessage, regenerate = false): Message {
  return { role: 'user', content, metadata: { [MESSAGE_ID]: id, ...(regenerate && { [REGENERATES]: true }) } };
}

/** Whether the same message was recorded under this id. Other content under the id is an edit, and recorded as such. */
export function isRecorded(state: State, message: PostedMessage): boolean {
  const last = lastWithId(state, message.id);
  return last !== undefined && isSameContent(last.content, message.content);
}

/** Whether it is the last thing the user said. */
export function isLastRecorded(state: State, message: PostedMessage): boolean {
  const last = lastOf(state, ({ role }) => role === 'user');
  return last?.metadata?.[MESSAGE_ID] === message.id && isSameContent(last.content, message.content);
}

export function lastWithId(state: State, id: string): Message | undefined {
  return lastOf(state, ({ role, metadata }) => role === 'user' && metadata?.[MESSAGE_ID] === id);
}

function lastOf({ history, queued }: State, isIt: (message: Message) => boolean): Message | undefined {
  return queued.findLast(isIt) ?? history.toArray().findLast(isIt);
}

/** Media types are ignored: the server adds the type of a file where the page did not send one. */
function isSameContent(one: readonly Part[], other: readonly Part[]): boolean {
  const compared = (part: Part) => ('media' in part ? { url: part.media.url } : part);
  return sameJson(one.map(compared), other.map(compared));
}
