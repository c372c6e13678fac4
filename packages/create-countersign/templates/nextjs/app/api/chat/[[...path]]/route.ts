// The route of `useChat`: messages, decisions, and the live view of a chat.
import { openChat } from '../../../../server/chat.ts';

export const GET = (request: Request): Promise<Response> => openChat().GET(request);
export const POST = (request: Request): Promise<Response> => openChat().POST(request);
