// POST /api/chat, GET /api/chat/<id>, GET /api/chat/<id>/stream and GET /api/chat/<id>/watch.
import { openChat } from '../../../../server/chat.ts';

export const GET = async (request: Request): Promise<Response> => (await openChat()).GET(request);
export const POST = async (request: Request): Promise<Response> => (await openChat()).POST(request);
